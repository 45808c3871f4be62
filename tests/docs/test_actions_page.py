"""The snippets of docs/actions.md are actions that load without a word."""

import re
import textwrap
from pathlib import Path

import pytest

from router import kinds
from router.config import load, render_text
from router.model.retry import BUILT_IN
from tests.docs.pages import blocks

BLOCKS = blocks("actions.md", "yaml")
PAGE = (Path(__file__).parents[2] / "docs" / "actions.md").read_text("utf-8")
KINDS = tuple(kinds.KINDS)
HEAD = """version: 1
secrets: {erp: {env: ERP_TOKEN}, chat_url: {env: CHAT_URL}}
targets: {erp: {url: "https://erp.example.net"}}
endpoints:
  shop: {paths: /shop, provider: shopify, verify: none}
  mail: {paths: /mail, provider: sendgrid, verify: none}
  code: {paths: /code, provider: github, verify: none}
rules:
  - id: shown
    from: all
    actions:
      - """
SHOWN = [block for block in BLOCKS if block.partition(":")[0] in KINDS]


@pytest.fixture(autouse=True)
def _plugin(tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "desk.py").write_text("def notify(event, context, text): ...\n")


@pytest.mark.parametrize("block", SHOWN, ids=range(len(SHOWN)))
def test_a_snippet_loads(block: str, tmp_path: Path) -> None:
    text = HEAD + textwrap.indent(block, " " * 8).lstrip()
    found = load(text, path=str(tmp_path / "rules.yaml"), env={})
    said = [d for d in found.diagnostics if d.severity == "error"]
    assert render_text(said) == ""


def test_every_kind_is_shown() -> None:
    assert {block.partition(":")[0] for block in SHOWN} == set(KINDS)


def test_the_default_policy_of_every_kind_is_shown() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([a-z_, ]+) \|$", PAGE, re.MULTILINE)
    shown = {kind: BUILT_IN[policy] for policy, names in rows for kind in names.split(", ")}
    assert shown == {name: kind.retry for name, kind in kinds.KINDS.items()}
