"""
The published JSON Schema: current, valid itself, and true of every right file we have.

GOLDEN=write makes docs/rules.schema.json anew.
"""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from router import providers
from router.config.further_keys import FURTHER
from router.config.json_schema import schema_of_rules, schema_of_tests
from router.yaml_source import (
    Entry,
    Mapping,
    Node,
    NumberError,
    Report,
    Sequence,
    Source,
    keys_of,
    read,
    resolve,
)
from tests.docs.entries import entries
from tests.golden.made import made_of
from tests.golden.pairs import CODES_FOLDER

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "rules.schema.json"
OK = [
    ROOT / "rules.example.yaml",
    *sorted((ROOT / "tests" / "golden" / "ok").glob("*.yaml")),
    *sorted(CODES_FOLDER.glob("*/good.yaml")),
]
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{at}")
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.parent.name != "codes"
    for at, block in enumerate(
        re.findall(
            r"^```yaml\n(version: 1\n.*?)^```",
            page.read_text("utf-8"),
            re.MULTILINE | re.DOTALL,
        )
    )
]
SHAPES = ("unknown-key", "missing-key", "wrong-type", "unknown-value", "bad-value")
OFFERED = ("a provider", "an event")
FAULTS = sorted((ROOT / "tests" / "golden" / "err").glob("shape_*.yaml"))


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return schema_of_rules(providers.builtin())


@pytest.fixture(scope="module")
def validator(made: dict[str, Any]) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(made)


def plain(node: Node) -> Any:
    """A document as an editor's YAML 1.2 parser gives it to its validator."""
    if isinstance(node, Mapping):
        return {key.value: plain(child) for key, child in node}
    if isinstance(node, Sequence):
        return [plain(child) for child in node.items]
    try:
        value = node.value if node.style else resolve(node.value)
    except NumberError:
        return node.value
    return value if isinstance(value, str | int | bool | None) else float(value)


def document(text: str) -> Any:
    node = read(Report(Source(text, "rules.yaml")))
    assert node is not None
    return plain(node)


def test_it_is_valid_itself(made: dict[str, Any]) -> None:
    jsonschema.Draft7Validator.check_schema(made)
    jsonschema.Draft7Validator.check_schema(schema_of_tests(providers.builtin()))


def test_the_file_in_the_repository_is_current(made: dict[str, Any]) -> None:
    text = msgspec.json.format(msgspec.json.encode(made), indent=2).decode() + "\n"
    assert made_of(FILE, text) == text


def test_the_example_names_it_so_that_editors_find_it() -> None:
    first = (ROOT / "rules.example.yaml").read_text("utf-8").splitlines()[0]
    named = first.removeprefix("# yaml-language-server: $schema=")
    assert (ROOT / named).samefile(FILE)


@pytest.mark.parametrize("path", OK, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_right_file_is_valid(path: Path, validator: jsonschema.Draft7Validator) -> None:
    validator.validate(document(path.read_text("utf-8")))


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_the_docs_is_valid(block: str, validator: jsonschema.Draft7Validator) -> None:
    validator.validate(document(block))


@pytest.mark.parametrize("code", SHAPES)
def test_a_fault_of_shape_is_not_valid(code: str, validator: jsonschema.Draft7Validator) -> None:
    bad = document((CODES_FOLDER / code / "bad.yaml").read_text("utf-8"))
    assert not validator.is_valid(bad)


@pytest.mark.parametrize("path", FAULTS, ids=lambda p: p.stem)
def test_a_file_full_of_them_is_not_valid(
    path: Path, validator: jsonschema.Draft7Validator
) -> None:
    assert not validator.is_valid(document(path.read_text("utf-8")))


@pytest.mark.parametrize("kind", entries(), ids=lambda kind: kind.__name__)
def test_every_key_says_what_it_is_for(kind: type[Entry]) -> None:
    assert [key.name for key in (*keys_of(kind), *FURTHER.get(kind, ())) if not key.about] == []


def test_it_offers_providers_and_events(made: dict[str, Any]) -> None:
    offered = {name: made["definitions"][name]["anyOf"][0]["enum"] for name in OFFERED}
    assert {"shopify", "sendgrid", "github"} <= set(offered["a provider"])
    assert {"workflow_run.completed", "orders/paid"} <= set(offered["an event"])
    assert "a%20provider" in json.dumps(made["definitions"]["Endpoint"]["properties"]["provider"])


def test_a_lone_scalar_stands_for_one_of_the_keys(validator: jsonschema.Draft7Validator) -> None:
    rule = {"id": "a", "from": "x", "match": "payload.a", "retry": "none", "actions": {"log": 1}}
    validator.validate({"version": 1, "rules": rule})
    assert not validator.is_valid({"version": 1, "rules": {**rule, "retry": ["none"]}})
