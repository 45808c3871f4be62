"""The functions as Markdown: docs/functions.md begins with this text."""

from router.expressions.signatures import FUNCTIONS, Function, Origin

_HEAD = """# Functions

Types are JMESPath's. A `?` stands behind arguments whose null (or absence) makes the result null
(or absent); for any other argument null is a wrong type, unless `null` or `any` is listed. Of
several wrong arguments the worst counts, whatever their order: a wrong type is an error, else the
result is absent, else null. Only `if`, `default` and `exists` evaluate no more than they need. A
text that represents a number has digits `0` to `9`, and may have a sign, a point, an exponent and
white space around it (`'-1.5e3'`, `' .5 '`). Times are RFC 3339 texts (no offset means UTC) or
Unix seconds; `now()` is the delivery's `received_at`, in UTC with milliseconds
(`2026-11-20T12:00:00.123Z`). A text result holds at most 1,048,576 characters, a number at most
400 digits.
"""
_NULLS = """Null is a wrong type for all but the search of `contains`, `not_null`, `to_array`,
`to_number`, `to_string` and `type`.
"""


def functions_markdown() -> str:
    """The page, down to its list of JMESPath's functions."""
    ours = "".join(map(_row, _of("ours")))
    standard = "".join(f"- `{f.usage()}`: {f.about}\n" for f in _of("standard"))
    table = f"| call | takes | gives | meaning |\n|---|---|---|---|\n{ours}"
    return f"{_HEAD}\n## Ours\n\n{table}\n## JMESPath's own\n\n{_NULLS}\n{standard}"


def _of(origin: Origin) -> list[Function]:
    return [f for _, f in sorted(FUNCTIONS.items()) if f.origin == origin]


def _row(function: Function) -> str:
    types = ", ".join("/".join(p.types) + "?" * p.subject for p in function.parameters)
    return f"| `{function.usage()}` | {types} | {function.result} | {function.about} |\n"
