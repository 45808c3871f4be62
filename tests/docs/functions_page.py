"""The tables of functions as Markdown: docs/functions.md begins with this text."""

from router.expressions.signatures import FUNCTIONS, Function, Origin

_HEAD = """# Functions

The tables are made from the one that the compiler checks against.

Types are JMESPath's. *Subject* names the arguments whose null (or absence) makes the result
null (or absent); for any other argument null is a wrong type, unless `null` or `any` is listed.
Of several wrong arguments the worst counts, whatever their order: a wrong type is an
error, else an absent subject makes the result absent, else a null one makes it null. So
`mul(a, b)` and `mul(b, a)` never differ. Only `if`, `default` and `exists` depend on the order:
they evaluate no more than they need.
A text that represents a number has digits `0` to `9`, and may have a sign, a point, an exponent and
white space around it (`'-1.5e3'`, `' .5 '`).
Times are RFC 3339 texts (no offset means UTC) or Unix seconds; `now()` is the delivery's
`received_at`, RFC 3339 in UTC with milliseconds (`2026-11-20T12:00:00.123Z`).
A text result holds at most 1,048,576 characters, a number at most 400 digits.
"""


def functions_markdown() -> str:
    """The page, down to its last table."""
    ours = _table("ours")
    standard = _table("standard")
    return f"{_HEAD}\n## Ours\n\n{ours}\n## JMESPath's own\n\n{standard}"


def _table(origin: Origin) -> str:
    head = "| call | arguments | subject | result | meaning |\n|---|---|---|---|---|\n"
    rows = [_row(f) for _, f in sorted(FUNCTIONS.items()) if f.origin == origin]
    return head + "".join(rows)


def _row(function: Function) -> str:
    types = "; ".join(f"{p.name}: {' or '.join(p.types)}" for p in function.parameters)
    subjects = ", ".join(p.name for p in function.parameters if p.subject)
    cells = (f"`{function.usage()}`", types, subjects, function.result, function.about)
    return f"| {' | '.join(cells)} |\n"
