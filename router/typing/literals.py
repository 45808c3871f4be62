"""Texts that stand in an expression, against what they are compared with or searched in."""

import re
from collections.abc import Callable, Iterable

from router.expressions.nodes import Node
from router.suggest import FixHint, begun_alike, by_beginning, closest, meaning
from router.typing.formats import Format, Place, differ, misfits
from router.typing.lattice import NULL, TEXT, Type
from router.typing.run import TypeWalk, span_of

_SHOWN_MAX = 8
_ANSWER = re.compile(r"write ('[^']*')")
_SEARCHES: dict[str, tuple[Place, str, Callable[[str, str], bool]]] = {
    "starts_with": ("begin", "begins with", str.startswith),
    "ends_with": ("end", "ends with", str.endswith),
    "contains": ("part", "contains", str.__contains__),
}


def check_word(
    run: TypeWalk, literal: Node, other: Node, kind: Type, value: str | None = None
) -> None:
    """The literal against the known values of what it is compared with."""
    text = str(literal.value if value is None else value)
    if text not in kind.known and (wrong := misfits(kind.format, text)) is not None:
        _say(run, (literal, other), wrong, "is", text)
        return
    if text == "null" and kind.kinds & NULL and not (kind.known or kind.texts):
        message = f"'null' in quotes is a text, and {run.source(other)} may be null itself"
        run.warn("wrong-format", message, literal, "write null without quotes")
        return
    values = kind.known or kind.texts or frozenset()
    if kind.asked or not values or text in values or text in (kind.texts or ()):
        run.fine.add(span_of(literal))
        return
    said = run.source(other)
    near = closest(text, sorted(values))
    message = f"'{text[:60]}' is no known value of {said}"
    if text in kind.aliases and kind.kinds & NULL:
        run.warn("value-not-known", message, literal, f"it is null then: {said} == null")
    elif text in kind.aliases:
        instead = " or ".join(f"'{name}'" for name in sorted(kind.known))
        message = f"'{text[:60]}' is another name of the same sender"
        run.note("provider-alias", message, literal, f"write {instead}, as the endpoint does")
    elif near:
        hint = meaning(text, near, _literal, fix=value is None)
        run.note("misspelt-value", message, literal, hint)
    elif kind.known or len(kind.texts or ()) > 1:
        hint = " ".join(filter(None, (begun_alike(text, sorted(values)), _listed(text, values))))
        run.warn("value-not-known", message, literal, hint)


def _listed(text: str, values: Iterable[str]) -> str:
    """The known values, or the nearest of many."""
    nearest = by_beginning(text, sorted(values))
    shown = ", ".join(f"'{one}'" for one in nearest[:_SHOWN_MAX])
    return f"known values: {shown}{', …' if len(nearest) > _SHOWN_MAX else ''}"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _say(run: TypeWalk, sides: tuple[Node, Node], wrong: Format, does: str, text: str) -> None:
    literal, other = sides
    said = run.source(other)
    advice = wrong.advice(said, text) if does == "is" else None
    if advice is not None and (answer := _ANSWER.fullmatch(advice)) is not None:
        advice = FixHint(advice, answer[1])
    run.warn(
        "wrong-format",
        f"{said} is {wrong.about}, and never {does} '{text[:60]}'",
        literal,
        advice,
    )


def check_formats(run: TypeWalk, node: Node, left: Type, right: Type) -> None:
    """Two texts of which none of the one is one of the other: a day and a time."""
    if not differ(left.format, right.format):
        return
    time = run.source(node.children[0 if left.format == "timestamp" else 1])
    run.warn("wrong-format", "a day never is a time", node, f"write date({time})")


def check_search(run: TypeWalk, node: Node, subject: Type) -> None:
    """`starts_with`, `ends_with`, `contains` and `glob` of a text that a literal is searched in."""
    other, literal = node.children
    if (
        other.kind == "literal"
        or literal.kind != "literal"
        or not isinstance(literal.value, str)
        or not subject.surely(TEXT)
    ):
        return
    if run.found_within(node) or not literal.value:
        return
    if node.value == "glob":
        _check_glob(run, (literal, other), subject)
        return
    place, does, holds = _SEARCHES[node.value]
    if (wrong := misfits(subject.format, literal.value, place)) is not None:
        _say(run, (literal, other), wrong, does, literal.value)
    elif (values := subject.known or subject.texts) and not any(
        holds(value, literal.value) for value in {*values, *(subject.texts or ())}
    ):
        message = f"no known value of {run.source(other)} {does} '{literal.value[:60]}'"
        run.warn("value-not-known", message, literal, _listed(literal.value, values))


def _check_glob(run: TypeWalk, sides: tuple[Node, Node], subject: Type) -> None:
    literal, other = sides
    first, *parts = str(literal.value).split("*")
    if not parts:
        check_word(run, literal, other, subject)
        return
    places: list[tuple[Place, str]] = [("begin", first), *(("part", p) for p in parts[:-1])]
    for place, text in (*places, ("end", parts[-1])):
        if (wrong := misfits(subject.format, text, place)) is not None:
            _say(run, sides, wrong, "fits", str(literal.value))
            return


def check_alone(run: TypeWalk, before: Node, literal: Node) -> None:
    """`x == 'a' || 'b'`: the second text is compared with nothing."""
    if literal.kind == "literal" and before.kind == "compare" and before.value == "==":
        said, left = run.source(literal), before.children[0]
        texts = (run.text[one.start : one.end] for one in (left, literal))
        hint = FixHint(f"write {run.source(left)} == {said}", " == ".join(texts))
        run.warn("always-true", f"{said} is compared with nothing: alone it is true", literal, hint)
