"""Which fields an expression names, and which it reads."""

import pytest

from router.expressions import compile as expression
from router.expressions.field_paths import FieldPath, covers, field_path, paths_read

NAMED: list[tuple[str, FieldPath | None]] = [
    ("payload", ("payload",)),
    ("payload.customer.email", ("payload", "customer", "email")),
    ('headers."x-user"', ("headers", "x-user")),
    ("payload.a[].b[*].c", ("payload", "a", None, "b", None, "c")),
    ("payload.a[0].b", ("payload", "a", 0, "b")),
    ("payload.a[-1]", None),
    ("payload.*.b", None),
    ("payload.a[?b].c", None),
    ("payload.a[1:]", None),
    ("payload.a | b", None),
    ("length(payload.a)", None),
    ("payload.a == 'x'", None),
]
READ: list[tuple[str, set[FieldPath]]] = [
    ("payload.a.b == 'x' && !event", {("payload", "a", "b"), ("event",)}),
    ("payload.a[?b == 'x'].c", {("payload", "a", None, "b"), ("payload", "a", None, "c")}),
    ("payload.a | b.c", {("payload", "a", "b", "c")}),
    ("payload.a.length(@)", {("payload", "a")}),
    ("payload.{a: b.c, d: e}", {("payload", "b", "c"), ("payload", "e")}),
    ("sort_by(payload.a, &b)[0].c", {("payload", "a")}),
    ("payload.*.b", {("payload", None, "b")}),
    ("'x'", set()),
    ("$.payload.a[1:2].b", {("payload", "a", None, "b")}),
]


@pytest.mark.parametrize(("text", "path"), NAMED)
def test_a_path_is_fields_positions_and_every_element(text: str, path: FieldPath | None) -> None:
    assert field_path(expression(text).tree) == path


@pytest.mark.parametrize(("text", "paths"), READ)
def test_what_is_read(text: str, paths: set[FieldPath]) -> None:
    assert paths_read(expression(text).tree) == paths


def test_a_part_of_a_value_is_covered_by_its_path() -> None:
    assert covers(("payload", "a"), ("payload", "a", "b"))
    assert covers(("payload", "a", None), ("payload", "a", 3, "b"))
    assert not covers(("payload", "a", "b"), ("payload", "a"))
    assert not covers(("payload", "a"), ("payload", "b"))
