"""Where an expected value and what came differ: lines, and a picture of both."""

from collections.abc import Iterator
from typing import Any

from router.expressions import encode_json
from router.expressions.compare import same
from router.expressions.regex import REGEX_FUNCTIONS
from router.legible import cut
from router.model.trial import ExpectedValue

SHOWN_MAX = 200
LINES_MAX = 60
NOTHING = object()
_STEP = "  "


def mismatches(path: str, expected: Any, came: Any, *, subset: bool) -> Iterator[str]:
    """A line for each place where they differ; keys that are not expected do not count."""
    if isinstance(expected, ExpectedValue):
        if not fits(expected, came):
            yield f"{path}: expected {shown(expected)}, got {shown(came)}"
    elif subset and isinstance(expected, dict) and isinstance(came, dict):
        for name, value in expected.items():
            yield from mismatches(f"{path}.{name}", value, came.get(name, NOTHING), subset=True)
    elif isinstance(expected, list) and isinstance(came, list) and len(expected) == len(came):
        for i, (left, right) in enumerate(zip(expected, came, strict=True)):
            yield from mismatches(f"{path}[{i}]", left, right, subset=subset)
    elif came is NOTHING or not same(expected, came):
        yield f"{path}: expected {shown(expected)}, got {shown(came)}"


def fits(matcher: ExpectedValue, came: Any) -> bool:
    """Whether what came, NOTHING if it is not there, is what a matcher asks for."""
    value = matcher.value
    match matcher.how:
        case "absent":
            return came is NOTHING
        case "any":
            return came is not NOTHING
        case "equals":
            return came is not NOTHING and same(value, came)
        case "contains" if isinstance(came, list):
            return any(not list(mismatches("", value, item, subset=True)) for item in came)
        case "contains":
            return isinstance(came, str) and isinstance(value, str) and value in came
        case "matches":
            return isinstance(came, str) and bool(REGEX_FUNCTIONS["matches"](value)(came))


def picture(expected: Any, came: Any) -> list[str]:
    """
    Both as JSON, one line over the other: `-` what was expected, `+` what came in its place.

    Of what came but was not expected only the number of keys is shown.
    """
    lines = list(_pictured(expected, came, "", ""))
    more = len(lines) - LINES_MAX
    return [*lines[:LINES_MAX], f"  … {more} more lines"] if more > 0 else lines


def _pictured(expected: Any, came: Any, indent: str, label: str) -> Iterator[str]:
    inner = indent + _STEP
    if isinstance(expected, dict) and isinstance(came, dict):
        yield f"  {indent}{label}{{"
        for name, value in expected.items():
            yield from _pictured(value, came.get(name, NOTHING), inner, f"{_text(name)}: ")
        more = len(came.keys() - expected.keys())
        if more:
            yield f"  {inner}… {more} more {'key' if more == 1 else 'keys'}"
        yield f"  {indent}}}"
    elif isinstance(expected, list) and isinstance(came, list):
        yield f"  {indent}{label}["
        for i in range(max(len(expected), len(came))):
            left, right = (side[i] if i < len(side) else NOTHING for side in (expected, came))
            yield from _pictured(left, right, inner, "")
        yield f"  {indent}]"
    else:
        yield from _line(expected, came, indent + label)


def _line(expected: Any, came: Any, head: str) -> Iterator[str]:
    if not list(mismatches("", expected, came, subset=False)):
        if came is not NOTHING:
            yield f"  {head}{shown(came)}"
        return
    for sign, value in (("-", expected), ("+", came)):
        if value is not NOTHING:
            yield f"{sign} {head}{shown(value)}"


def shown(value: Any) -> str:
    """A value in a line of JSON, cut."""
    return "nothing" if value is NOTHING else cut(_text(value), SHOWN_MAX)


def _text(value: Any) -> str:
    return encode_json(_written(value)).decode("utf-8")


def _written(value: Any) -> Any:
    """A value with matchers as they are written."""
    if isinstance(value, ExpectedValue):
        plain = True if value.how in ("any", "absent") else _written(value.value)
        return {value.how: plain}
    if isinstance(value, dict):
        return {name: _written(one) for name, one in value.items()}
    return [_written(one) for one in value] if isinstance(value, list) else value
