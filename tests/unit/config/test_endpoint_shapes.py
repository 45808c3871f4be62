"""`shapes/ENDPOINT.yaml`, written by hand: fields beside those that the sender publishes."""

from pathlib import Path

import pytest

from router.config import KeptFiles, load
from router.config.loading import Loaded

RULES = """
version: 1
endpoints:
  shop: {{paths: /shop, provider: shopify, verify: none}}
  other: {{paths: /other, provider: shopify, verify: none}}
rules: [{{id: a, from: {0}, events: orders/paid, match: "{1}", actions: {{log: x}}}}]
"""
SHAPES = """
payloads:
  - for: orders/*
    fields:
      loyalty: {fields: {points: integer, tier: {known: [gold, silver]}}, closed: true}
      note: string or null
"""


def loaded(folder: Path, condition: str, shapes: str = SHAPES, endpoints: str = "shop") -> Loaded:
    file = folder / "shapes" / "shop.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(shapes, "utf-8")
    text = RULES.format(endpoints, condition)
    return load(text, path=str(folder / "rules.yaml"), env={}, thorough=True, tests=True)


def codes(found: Loaded) -> list[str]:
    return [d.code for d in found.diagnostics if d.code != "unused-endpoint"]


def test_a_field_that_is_written_is_known_with_its_type(tmp_path: Path) -> None:
    assert codes(loaded(tmp_path, "payload.loyalty.tier == 'gold'", "payloads: []")) == [
        "unknown-field"
    ]
    assert codes(loaded(tmp_path, "payload.loyalty.tier == 'gold'")) == []
    assert codes(loaded(tmp_path, "payload.loyalty.tier == 'glod'")) == ["misspelt-value"]
    assert codes(loaded(tmp_path, "payload.loyalty.points == 'x'")) == ["text-as-number"]
    assert codes(loaded(tmp_path, "payload.loyalty.level == 1")) == ["unknown-name"]


def test_what_the_sender_publishes_is_known_beside_it(tmp_path: Path) -> None:
    assert codes(loaded(tmp_path, "decimal(payload.total_price) > 1")) == []
    assert codes(loaded(tmp_path, "payload.total_prise == '1'")) == ["misspelt-field"]


def test_it_counts_for_its_endpoint_and_for_a_rule_of_several(tmp_path: Path) -> None:
    condition = "payload.loyalty.points > 1"
    assert codes(loaded(tmp_path, condition, endpoints="other")) == ["unknown-field"]
    assert codes(loaded(tmp_path, condition, endpoints="[shop, other]")) == []
    # `other` has no file: of its `tier` nothing is known.
    another = loaded(tmp_path, "payload.loyalty.tier == 'glod'", endpoints="[shop, other]")
    assert codes(another) == []


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("[]", "1:1", "is a mapping"),
        ("payloads: []\nmore: x", "2:1", "`more` is an unknown key"),
        ("payloads: [x]", "1:12", "`payloads[0]` is a mapping"),
        ("payloads: [{for: e, seen: 12}]", "1:21", "`payloads[0].seen` is an unknown key"),
        ("payloads: [{for: e, fields: {a: text}}]", "1:33", "unknown type 'text'"),
        ("payloads: [{for: e, closed: maybe}]", "1:29", "`payloads[0].closed` is true or false"),
    ],
)
def test_what_is_no_such_file_is_refused_in_its_place(
    text: str, place: str, words: str, tmp_path: Path
) -> None:
    found = loaded(tmp_path, "payload.id == 1", text)
    assert found.ruleset is None
    [said] = found.diagnostics
    assert (said.code, f"{said.line}:{said.column}") == ("bad-shapes", place)
    assert said.file.endswith("shapes/shop.yaml")
    assert words in said.message


def test_a_generation_is_read_where_its_shape_files_are_not() -> None:
    """Only they knew that `notes` is no misspelling of `note`."""
    text = RULES.format("shop", "payload.notes == 'x'")
    assert load(text, path="rules.yaml", env={}).ruleset is None
    kept = load(text, path="rules.yaml", env={}, files=KeptFiles({}))
    assert kept.ruleset is not None
    assert [(d.code, d.severity) for d in kept.diagnostics] == [("misspelt-field", "warning")]


def test_a_router_serves_beside_a_wrong_shape_file(tmp_path: Path) -> None:
    """Only `check` reports it: what a router does needs no shapes."""
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "shop.yaml").write_text("payloads: [x]")
    text = RULES.format("shop", "payload.id == 1")
    served = load(text, path=str(tmp_path / "rules.yaml"), env={})
    assert served.ruleset is not None
    assert served.diagnostics == ()
