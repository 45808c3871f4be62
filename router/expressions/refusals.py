"""Syntax errors in words that name the mend."""

from collections.abc import Sequence

from router.errors import ExpressionError
from router.expressions.tokens import MINUS_HINT, SYNTAX, Token
from router.suggest import FixHint

_AND = FixHint("write '&&' for 'and'", "&&")
_OR = FixHint("write '||' for 'or'", "||")
_MEANT = {
    "and": _AND,
    "or": _OR,
    "AND": _AND,
    "OR": _OR,
    "not": "write '!' for 'not', and '!=' for 'is not'",
    "is": "write '==' for 'is'",
    "in": "write contains(list, value)",
    "like": "write glob(text, 'pattern*')",
    "contains": "write contains(list, value)",
    "if": "write if(condition, a, b)",
}
_CLOSING = {")": "(", "]": "[", "}": "{"}
_OPERATORS = frozenset(("&&", "||", "|", "==", "!=", "<", "<=", ">", ">="))
_CLOSED_BY = {"(": ")", "[": "]", "[?": "]", "{": "}"}


def unexpected(token: Token, taken: Sequence[Token], wanted: str | None) -> ExpressionError:
    """A token that cannot stand where it stands; `taken` are all tokens before it."""
    kind, value, start, end = token
    before = taken[-1] if taken else None
    opened = _last_open(taken)
    if kind in _CLOSING and opened is not None and _CLOSED_BY[opened[0]] != kind:
        return _never_closed(opened)
    if before is not None and before[0] == "name" and before[1] in ("not", "NOT"):
        return ExpressionError(
            SYNTAX, f"{before[1]!r} is not an operator", before[2], before[3], "write '!'"
        )
    message, hint = _message(kind, value, wanted), _hint(kind, before, wanted)
    if kind == "name" and value in _MEANT:
        message, hint = f"{value!r} is not an operator here", _MEANT[value]
    elif kind == "&":
        message, hint = "a single '&' is not an operator", _AND
    elif kind == "number" and str(value).startswith("-"):
        message, hint = "there is no operator '-'", MINUS_HINT
    elif kind == "quoted" and before is not None and before[0] in ("name", "text"):
        message = "this name is not allowed here"
        hint = "a text goes in single quotes; double quotes are for a field's name"
    return ExpressionError(SYNTAX, message, start, end, hint)


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


def _hint(kind: str, before: Token | None, wanted: str | None) -> str | None:
    if kind == "," and wanted in _CLOSING:
        return f"add '{wanted}' before it"
    if kind in _OPERATORS and (before is None or before[0] in _OPERATORS or before[0] == "("):
        return "a value is missing before it"
    if kind in _CLOSING:
        return f"is its '{_CLOSING[kind]}' missing, or a value before it?"
    if kind == "number" and before is not None and before[0] == ".":
        return "a list position goes in brackets: items[0]"
    if before is not None and before[0] in ("name", "text", "number", "json", ")", "]"):
        return "an operator is missing between the two"
    return None


def _last_open(taken: Sequence[Token]) -> Token | None:
    """The innermost bracket that is not closed."""
    opened = list[Token]()
    for token in taken:
        if token[0] in _CLOSED_BY:
            opened.append(token)
        elif token[0] in _CLOSING and opened:
            opened.pop()
    return opened[-1] if opened else None


def _never_closed(opened: Token) -> ExpressionError:
    kind, _, start, end = opened
    hint = f"add '{_CLOSED_BY[kind]}'"
    return ExpressionError(SYNTAX, f"this '{kind}' is never closed", start, end, hint)


def incomplete(
    text: str, token: Token, taken: Sequence[Token], wanted: str | None
) -> ExpressionError:
    """The text ends too early; `taken` are all tokens before `token`."""
    if not text.strip():
        return ExpressionError(SYNTAX, "the expression is empty", 0, len(text))
    if (opened := _last_open(taken)) is not None:
        return _never_closed(opened)
    return ExpressionError(
        SYNTAX,
        "the expression ends too early",
        max(token[2] - 1, 0),
        token[3],
        "add a name" if wanted == "name" else "a value is missing at the end",
    )
