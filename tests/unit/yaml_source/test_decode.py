"""Nodes to Structs: every fault at once, each at its place."""

from typing import ClassVar, Literal, NewType

import msgspec

from router.suggest import Suggester
from router.yaml_source import (
    Decoder,
    Entry,
    Node,
    Refusal,
    Report,
    Source,
    SourceText,
    Table,
    read,
)

Even = NewType("Even", int)


def even(text: str) -> int:
    if not text.isdigit() or int(text) % 2:
        raise ValueError(f"'{text}' is not even")
    return int(text)


class Inner(Entry):
    called: ClassVar[str] = "'inner'"
    shorthand: ClassVar[str | None] = "short"
    short: SourceText | None = None
    size: Even | None = None


class Outer(Entry):
    called: ClassVar[str] = "the test"
    required: ClassVar[tuple[str, ...]] = ("name",)
    name: SourceText | None = None
    kind: Literal["red", "green"] | None = None
    many: list[SourceText] | None = None
    inner: Inner | None = None
    table: Table[Inner] | None = None
    anything: Node | None = None
    count: int | None = None
    switch: bool | None = None
    source: SourceText | None = msgspec.field(default=None, name="from")


REFUSED: dict[tuple[str, ...], Refusal] = {
    ("Outer", "later"): Refusal("not-available", "'later' is not built"),
    ("Outer", "kind", "blue"): Refusal("not-available", "'blue' is not built"),
}


def decoded(text: str) -> tuple[Outer | None, list[tuple[str, int, int]]]:
    report = Report(Source(text, "t.yaml"))
    node = read(report)
    assert node is not None
    value = Decoder(report, Suggester(), {Even: even}, REFUSED, {}).decode(node, Outer)
    return value, [(d.code, d.line, d.column) for d in report.sorted()]


def test_a_right_mapping() -> None:
    value, faults = decoded(
        "name: 0012\nkind: red\nmany: one\ninner: text\ntable: {a: {size: 4}}\n"
        "anything: [1]\ncount: 3\nswitch: true\nfrom: here\nx-mine: {{}: 1}\n".replace(
            "{{}: 1}", "1"
        )
    )
    assert faults == []
    assert value is not None
    assert value.name is not None
    assert value.name.value == "0012"
    assert [t.value for t in value.many or ()] == ["one"]
    assert value.inner is not None
    assert value.inner.short is not None
    assert [(k.value, v.size) for k, v in value.table or ()] == [("a", 4)]
    assert (value.count, value.switch, value.kind) == (3, True, "red")
    assert value.source is not None


def test_every_fault_is_reported_at_its_place() -> None:
    value, faults = decoded(
        "kind: blue\nmany: [a, [b]]\ninner: {size: 3, sise: 4}\ncount: many\n"
        "switch: yes\nlater: 1\n"
    )
    assert faults == [
        ("missing-key", 1, 1),
        ("not-available", 1, 7),
        ("wrong-type", 2, 11),
        ("bad-value", 3, 15),
        ("unknown-key", 3, 18),
        ("wrong-type", 4, 8),
        ("wrong-type", 5, 9),
        ("not-available", 6, 1),
    ]
    assert value is not None
    assert {"name", "kind", "count", "switch"} <= value.broken


def test_nothing_is_no_text_but_the_quoted_word_is() -> None:
    assert decoded("name:\n")[1] == [("wrong-type", 1, 6)]
    assert decoded("name: null\n")[1] == [("wrong-type", 1, 7)]
    assert decoded("name: 'null'\n")[1] == []


def test_a_misspelt_required_key_is_reported_once() -> None:
    assert decoded("nmae: a\n")[1] == [("unknown-key", 1, 1)]


def test_the_hidden_field_of_a_shorthand_is_no_key() -> None:
    assert decoded("name: a\ninner: {short: b}\n")[1] == [("unknown-key", 2, 9)]


def test_a_table_keeps_the_names_of_broken_entries() -> None:
    value, faults = decoded("name: a\ntable: {good: x, bad: [1]}\n")
    assert faults == [("wrong-type", 2, 23)]
    assert value is not None
    assert value.table is not None
    assert "bad" in value.table
    assert [name.value for name, _ in value.table] == ["good"]
