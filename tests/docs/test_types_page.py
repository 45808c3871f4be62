"""docs/types.md: every row of its table is so, and its file is right."""

import re
from pathlib import Path

import pytest

from router.config import load, render_text
from tests.acceptance.process import ROOT
from tests.docs.pages import steps

PAGE = (ROOT / "docs" / "types.md").read_text("utf-8")
ROWS = re.findall(r"^\| `([^`]+)` \| `(.+?)` \| `([a-z-]+)` \| `(.+?)` \|$", PAGE, re.MULTILINE)
_OWNER = {"orders/paid": "shop", "products/update": "shop", "bounce": "mail", "delivered": "mail"}
_HEAD = """version: 1
endpoints:
  shop: {paths: /shop, provider: shopify, verify: none}
  mail: {paths: /mail, provider: sendgrid, verify: none}
  code: {paths: /code, provider: github, verify: none}
"""


def said(event: str, expression: str) -> list[str]:
    quoted = expression.replace("'", "''")
    rule = (
        f"rules:\n  - id: row\n    from: {_OWNER.get(event, 'code')}\n    events: {event}\n"
        f"    match: '{quoted}'\n    actions: {{log: ok}}\n"
    )
    return [d.code for d in load(_HEAD + rule, path="rules.yaml", env={}).diagnostics]


@pytest.mark.parametrize(("event", "wrong", "code", "right"), ROWS)
def test_a_row_is_so(event: str, wrong: str, code: str, right: str) -> None:
    assert said(event, wrong) == [code]
    assert said(event, right) == []


def test_the_table_has_rows() -> None:
    assert len(ROWS) >= 20


def test_the_file_shown_is_right_and_its_shapes_are_used() -> None:
    text, _ = [text for kind, text in steps("types.md") if kind == "yaml"]
    assert render_text(load(text, path="rules.yaml", env={}).diagnostics) == ""
    wrong = text.replace("payload.subject", "payload.subjct")
    assert [d.code for d in load(wrong, path="rules.yaml", env={}).diagnostics] == [
        "misspelt-field"
    ]


def test_the_shapes_of_an_endpoint_make_its_fields_known(tmp_path: Path) -> None:
    _, shapes = [text for kind, text in steps("types.md") if kind == "yaml"]
    rule = "rules: [{id: a, from: shop, events: orders/paid, match: %s, actions: {log: x}}]\n"
    text = _HEAD + rule % "payload.loyalty.tier == 'gold'"
    path = str(tmp_path / "rules.yaml")
    assert [d.code for d in load(text, path=path, env={}).diagnostics] == ["unknown-field"]
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "shop.yaml").write_text(shapes, "utf-8")
    assert load(text, path=path, env={}).diagnostics == ()
