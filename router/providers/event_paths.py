"""Paths of a definition that can never be there: names and numbers, within one event."""

import re
from collections.abc import Iterator

from router.providers.definition import Definition, ValueSource

_ELEMENT = re.compile(r"\[(\d*)[^\]]*\]?")
Doubt = tuple[tuple[str | int, ...], str, str]
"""The place in the definition, what is wrong, and what was probably meant."""


def never_there(definition: Definition) -> Iterator[Doubt]:
    """Each path that has brackets, or goes through the list whose elements are events."""
    sources: dict[tuple[str, ...], ValueSource | None] = {
        ("event",): definition.event,
        ("action",): definition.action,
        ("id",): definition.id,
        **{("fields", name): source for name, source in definition.fields.items()},
    }
    for place, source in sources.items():
        for path in source.paths if source is not None else ():
            if (found := _doubt(definition, path)) is not None:
                yield (*place, "field"), *found
    at = definition.split_at or ""
    if "[" in at:
        meant = at.partition("[")[0].rstrip(".")
        yield ("split_at",), f"'{at}' is the name of a field", f"did you mean '{meant}'?"


def _doubt(definition: Definition, path: str) -> tuple[str, str] | None:
    listed, at = definition.split is not None, definition.split_at
    plain = _ELEMENT.sub(lambda found: f".{found[1] or '0'}", path).strip(".")
    if at is not None and (plain.startswith(f"{at}.") or plain == at):
        return _within(at, path), f"did you mean '{_inside(plain.removeprefix(at))}'?"
    if plain == path:
        return None
    if listed and at is None and path.startswith("["):
        return _within("the body", path), f"did you mean '{_inside(plain)}'?"
    before = path.partition("[")[0]
    message = f"'{path}' is the name of a field; an element of a list is read as '{plain}'"
    if listed:
        return message, f"did you mean '{plain}'?"
    split = f"`split: 100` and `split_at: {before}`" if before else "`split: 100`"
    inside = _inside(plain.removeprefix(before))
    parting = f"{split} would make an event of each element: '{inside}'"
    return message, f"did you mean '{plain}'? {parting}"


def _inside(path: str) -> str:
    """What is left of a path within one element."""
    return re.sub(r"^\.?\d+(?:\.|$)", "", path).strip(".") or "FIELD"


def _within(at: str, path: str) -> str:
    return f"each event is one element of {at} already, so '{path}' is never there"
