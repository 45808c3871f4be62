"""YAML becomes positioned nodes, or is refused in our words and within bounds."""

import time

import pytest
import yaml

from router.yaml_source import Mapping, Node, Report, Scalar, Sequence, Source, read

LOADERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])]


def tree(node: Node | None) -> object:
    if isinstance(node, Mapping):
        return {key.value: tree(value) for key, value in node}
    if isinstance(node, Sequence):
        return [tree(item) for item in node.items]
    return node.value if isinstance(node, Scalar) else None


def reading(text: str, loader: object = None) -> tuple[Node | None, Report]:
    report = Report(Source(text, "rules.yaml"))
    return read(report, loader), report


def codes(text: str, loader: object = None) -> list[str]:
    return [d.code for d in reading(text, loader)[1].sorted()]


@pytest.mark.parametrize("loader", LOADERS)
def test_nodes_know_where_they_stand(loader: object) -> None:
    node, report = reading("a:\n  - 'b'\n  - {c: d}\n", loader)
    assert tree(node) == {"a": ["b", {"c": "d"}]}
    assert isinstance(node, Mapping)
    items = node.get("a")
    assert isinstance(items, Sequence)
    assert report.source.position(items.items[0].start) == (2, 5)
    inner = items.items[1]
    assert isinstance(inner, Mapping)
    assert [report.source.position(key.start) for key, _ in inner] == [(3, 6)]


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("text", ["\ufeffa: b\n", "a: b\r\n", "a: b\r\nc: d\r\n"])
def test_byte_order_marks_and_other_line_ends(text: str, loader: object) -> None:
    node, report = reading(text, loader)
    assert not report.found
    assert isinstance(node, Mapping)
    assert tree(node)["a"] == "b"  # type: ignore[index]
    value = node.get("a")
    assert value is not None
    assert report.source.position(value.start) == (1, 4)


@pytest.mark.parametrize("loader", LOADERS)
def test_aliases_share_their_node_and_anchors_are_no_part_of_a_value(loader: object) -> None:
    node, report = reading("a: &x text\nb: *x\n", loader)
    assert isinstance(node, Mapping)
    assert node.get("a") is node.get("b")
    value = node.get("a")
    assert value is not None
    assert report.source.position(value.start) == (1, 7)


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    ("text", "value", "place"),
    [
        ("a: &x\nb: 1\n", "", (1, 4)),
        ("a: &x\n\n# c\nb: 1\n", "", (1, 4)),
        ("a: &x # c\n  t\n", "t", (2, 3)),
        ("a: &x # c\n  # d\n\n  t\n", "t", (4, 3)),
        ("a: &x '#'\n", "#", (1, 7)),
        ("a: &x |\n  t\n", "t\n", (1, 7)),
        ("a: &x", "", (1, 4)),
        ("{a: &x , b: &y}", "", (1, 5)),
    ],
)
def test_a_value_stands_after_its_anchor_and_an_empty_one_at_it(
    text: str, value: str, place: tuple[int, int], loader: object
) -> None:
    node, report = reading(text, loader)
    assert isinstance(node, Mapping)
    found = node.get("a")
    assert isinstance(found, Scalar)
    assert (found.value, report.source.position(found.start)) == (value, place)


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: [" + "[" * 70, "too-big"),
        ("a: &a {b: 1}\n" + "".join(f"k{i}: *a\n" for i in range(101)), "too-big"),
        ("a: &a [*a]\n", "bad-alias"),
        ("a: *b\n", "bad-alias"),
        ("a: 1\n---\nb: 1\n", "second-document"),
        ("a: 1\na: 2\n", "duplicate-key"),
        ("<<: {a: 1}\n", "merge-key"),
        ("true: 1\n", "key-not-text"),
        ("1.5: 1\n", "key-not-text"),
        ("[a]: 1\n", "key-not-text"),
        ("a: !b c\n", "yaml-tag"),
        ("a: !!int 3\n", "yaml-tag"),
        ("a: !!map {b: c}\n", "yaml-tag"),
        ("a: {{ b }}\n", "needs-quotes"),
        ("a: 'b' == c\n", "needs-quotes"),
        ("a: b == 'it: works'\n", "needs-quotes"),
        ("a: `b`\n", "needs-quotes"),
        ("a: 'b\n", "yaml-syntax"),
        ("a:\n\tb: c\n", "yaml-syntax"),
        ("%YAM 1\n", "yaml-syntax"),
        ("a: \x07\n", "unreadable-text"),
        ("", "empty-file"),
    ],
)
def test_what_is_refused(text: str, code: str, loader: object) -> None:
    assert codes(text, loader) == [code]


def test_yes_and_on_are_text_and_may_be_keys() -> None:
    assert tree(reading("on: yes\nno: off\n")[0]) == {"on": "yes", "no": "off"}


def test_a_bomb_of_aliases_is_counted_in_full_and_at_once() -> None:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    started = time.thread_time()
    assert codes("\n".join(lines)) == ["too-big"]
    assert time.thread_time() - started < 5


def test_depth_through_aliases_counts() -> None:
    deep = "[" * 40 + "]" * 40
    assert codes(f"a: &a {deep}\nb: {'[' * 40}*a{']' * 40}\n") == ["too-big"]


@pytest.mark.long
def test_a_file_over_sixteen_mebibytes_is_refused_unread() -> None:
    assert codes("# " + "x" * (16 * 1024 * 1024)) == ["too-big"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("m: !payload.test && x\n", "quote it: '!payload.test && x'"),
        ("m: 'a' == x\n", "quote it: \"'a' == x\""),
        (
            "m: {not: contains(payload.tags, 'vip')}\n",
            "quote it: \"contains(payload.tags, 'vip')\"",
        ),
        ("m: [contains(a, 'b'), c]\n", "quote it: \"contains(a, 'b')\""),
        ("m: {a: {{ x }}, b: c}\n", "quote it: '{{ x }}'"),
        ("m: {{ x }} and more # why\n", "quote it: '{{ x }} and more'"),
        ("m: x == 'a: \"b\"'\n", "quote it: 'x == ''a: \"b\"'''"),
    ],
)
def test_an_expression_that_yaml_refuses_is_answered_with_its_quoting(text: str, hint: str) -> None:
    (found,) = reading(text)[1].sorted()
    assert found.hint == hint


def test_what_the_hint_says_can_be_read() -> None:
    (found,) = reading("m: x == 'a: \"b\"'\n")[1].sorted()
    mended = "m: " + (found.hint or "").removeprefix("quote it: ")
    assert tree(reading(mended)[0]) == {"m": "x == 'a: \"b\"'"}


def test_a_thousand_faults_are_enough() -> None:
    assert len(codes("".join(f"{i}: 1\n" for i in range(5000)))) == 1000


class Exhausted(yaml.SafeLoader):
    """A loader that runs out of memory on the way."""

    def check_event(self, *choices: type) -> bool:
        if self.peek_event().start_mark.line > 1:
            raise MemoryError
        return super().check_event(*choices)


def test_too_little_memory_is_said_like_any_other_bound() -> None:
    node, report = reading("a:\n- b\n- c\n- d\n", Exhausted)
    assert node is None
    [fault] = report.sorted()
    assert (fault.code, fault.message) == (
        "too-big",
        "there is not enough memory to read this file",
    )


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    "text", ["a: {b: c?}", "a: [b ? c]", "a: {is it? yes: b}", "a: [{b: c?d}]"]
)
def test_what_one_parser_alone_would_take_is_refused(loader: object, text: str) -> None:
    """A question mark in a text without quotes, between brackets."""
    assert codes(text, loader) in (["needs-quotes"], ["yaml-syntax"])


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    "text", ["a: b?c", "a?: b", "a: {b: 'c?'}", "- {a: b}\n- c?", "a: {? b: c}"]
)
def test_a_question_mark_elsewhere_is_text(loader: object, text: str) -> None:
    assert codes(text, loader) == []


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="there is no second parser here")
def test_how_to_quote_a_question_mark_is_reported() -> None:
    (found,) = reading("a: {b: is it so?}", yaml.CSafeLoader)[1].sorted()
    assert (found.code, found.column, found.width) == ("needs-quotes", 8, 9)
    assert found.hint == "quote it: 'is it so?'"
