"""The tables of functions as Markdown: docs/functions.md begins with this text."""

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


def functions_markdown() -> str:
    """The page, down to its last table."""
    ours = _table("ours")
    standard = _table("standard")
    return f"{_HEAD}\n## Ours\n\n{ours}\n## JMESPath's own\n\n{standard}"


def _table(origin: Origin) -> str:
    head = "| call | takes | gives | meaning |\n|---|---|---|---|\n"
    rows = [_row(f) for _, f in sorted(FUNCTIONS.items()) if f.origin == origin]
    return head + "".join(rows)


def _row(function: Function) -> str:
    types = ", ".join("/".join(p.types) + "?" * p.subject for p in function.parameters)
    return f"| `{function.usage()}` | {types} | {function.result} | {function.about} |\n"
