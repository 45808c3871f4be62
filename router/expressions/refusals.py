"""Syntax errors in words that name the mend."""

from router.errors import ExpressionError
from router.expressions.tokens import MINUS_HINT, SYNTAX, Token

_MEANT = {
    "and": "write '&&' for 'and'",
    "or": "write '||' for 'or'",
    "AND": "write '&&' for 'and'",
    "OR": "write '||' for 'or'",
    "not": "write '!' for 'not', and '!=' for 'is not'",
    "is": "write '==' for 'is'",
    "in": "write contains(list, value)",
    "like": "write glob(text, 'pattern*')",
    "contains": "write contains(list, value)",
    "if": "write if(condition, a, b)",
}
_CLOSING = {")": "(", "]": "[", "}": "{"}


def unexpected(token: Token, before: Token | None, wanted: str | None) -> ExpressionError:
    """A token that cannot stand where it stands."""
    kind, value, start, end = token
    if kind == "name" and value in _MEANT:
        return ExpressionError(
            SYNTAX, f"{value!r} is not an operator here", start, end, _MEANT[value]
        )
    if before is not None and before[0] == "name" and before[1] in ("not", "NOT"):
        return ExpressionError(
            SYNTAX, f"{before[1]!r} is not an operator", before[2], before[3], "write '!'"
        )
    if kind == "&":
        return ExpressionError(
            SYNTAX, "a single '&' is not an operator", start, end, "write '&&' for 'and'"
        )
    if kind == "number" and str(value).startswith("-"):
        return ExpressionError(SYNTAX, "there is no operator '-'", start, end, MINUS_HINT)
    if kind == "quoted" and before is not None and before[0] in ("name", "text"):
        return ExpressionError(
            SYNTAX,
            "this name is not allowed here",
            start,
            end,
            "a text goes in single quotes; double quotes are for a field's name",
        )
    return ExpressionError(SYNTAX, _message(kind, value, wanted), start, end, _hint(kind, before))


def _message(kind: str, value: object, wanted: str | None) -> str:
    shown = _SHOWN.get(kind, f"'{value}'")
    if wanted is None:
        return f"{shown} is not allowed here"
    return f"{_SHOWN.get(wanted, repr(wanted))} should stand here, not {shown}"


_SHOWN = {
    "name": "a name",
    "quoted": "a name in quotes",
    "text": "a text",
    "json": "a literal",
    "number": "a number",
}


def _hint(kind: str, before: Token | None) -> str | None:
    if kind in _CLOSING:
        return f"is its '{_CLOSING[kind]}' missing, or a value before it?"
    if kind == "number" and before is not None and before[0] == ".":
        return "a list position goes in brackets: items[0]"
    if before is not None and before[0] in ("name", "text", "number", "json", ")", "]"):
        return "an operator is missing between the two"
    return None


def incomplete(text: str, token: Token, wanted: str | None) -> ExpressionError:
    """The text ends too early."""
    if not text.strip():
        return ExpressionError(SYNTAX, "the expression is empty", 0, len(text))
    return ExpressionError(
        SYNTAX,
        "the expression ends too early",
        max(token[2] - 1, 0),
        token[3],
        None if wanted is None else f"add {_SHOWN.get(wanted, repr(wanted))}",
    )
