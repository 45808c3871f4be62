"""Every YAML block of the pages about providers loads, and every key of a definition is told."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from router.config import load, provider_schema, render_text
from router.rehearsal import TrialRunner
from router.yaml_source import Entry
from tests.unit.providers.makers import fixed_bytes

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "providers.md").read_text("utf-8")
PAGES = [PAGE, *(p.read_text("utf-8") for p in sorted((DOCS / "providers").glob("*.md")))]
_SENT = re.compile(
    r"^```yaml\n(version.*?)^```|\brouter send ([a-z-]+) ([\w./:-]+)", re.MULTILINE | re.DOTALL
)
BLOCKS = [
    block
    for page in PAGES
    for block in re.findall(r"^```yaml\n(version.*?)^```", page, re.MULTILINE | re.DOTALL)
]


def test_there_are_blocks() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_loads(block: str) -> None:
    result = load(block, path="rules.yaml", env={})
    assert render_text(result.diagnostics) == ""
    assert result.ruleset is not None


def sent() -> Iterator[tuple[str, str, str]]:
    """(rules, endpoint, event) of each `router send` that a page shows below a rules file."""
    for page in PAGES[1:]:
        rules = ""
        for block, endpoint, event in _SENT.findall(page):
            rules = block or rules
            if rules and endpoint:
                yield rules, endpoint, event


@pytest.mark.parametrize(("rules", "endpoint", "event"), [*sent()])
def test_what_a_page_says_to_send_runs_its_rule(rules: str, endpoint: str, event: str) -> None:
    send = {"endpoint": endpoint, "event": event}
    as_written = load(rules, path="rules.yaml", env={}).ruleset
    own = as_written and as_written.endpoints[endpoint].answer
    expect = {"status": own.status if own else 200}
    trial = {"name": "shown", "send": send, "expect": expect}
    result = load(f"{rules}tests: [{json.dumps(trial)}]\n", path="rules.yaml", env={})
    assert render_text(result.diagnostics) == ""
    assert result.ruleset is not None
    runner = TrialRunner(result.ruleset, environ={}, random_bytes=fixed_bytes)
    ran = runner.run(result.trials[0])
    assert ran.failures == ()
    assert ran.seen.calls, "no action ran: the rule does not match what is sent"


def entries() -> list[type[Entry]]:
    kinds = (value for value in vars(provider_schema).values() if isinstance(value, type))
    return [kind for kind in kinds if issubclass(kind, Entry) and kind is not Entry]


@pytest.mark.parametrize("kind", entries(), ids=lambda kind: kind.__name__)
def test_every_key_is_reported(kind: type[Entry]) -> None:
    hidden = {"node", "broken", kind.shorthand}
    for field in msgspec.structs.fields(kind):
        if field.name not in hidden:
            assert re.search(rf"\b{field.encode_name}\b", PAGE), field.encode_name
