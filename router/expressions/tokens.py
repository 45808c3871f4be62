"""
Text into tokens: JMESPath's, and three of ours (`$`, numbers with a fraction, bare numbers).

A token is (kind, value, start, end). The kinds are the symbols themselves, and `name`, `quoted`,
`text` (in single quotes), `json` (in backticks), `number`, `end`.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from router.errors import ExpressionError
from router.expressions.json_text import DIGITS_MAX, NotJson, decode_json
from router.suggest import FixHint, character

Token = tuple[str, Any, int, int]

SYNTAX = "expression-syntax"

_TOKEN = re.compile(
    r"""(?P<space>[ \t\n\r]+)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<symbol>\[\]|\[\?|\|\||&&|==|!=|<=|>=|[].*,:@(){}|&<>!$[])
      | (?P<text>'(?:[^'\\]|\\.)*')
      | (?P<number>-?[0-9]+(?:\.[0-9]+)?)
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<json>`(?:[^`\\]|\\.)*`)""",
    re.VERBOSE | re.DOTALL,
)

MINUS_HINT = "write sub(a, b); a name with '-' goes in double quotes: headers.\"x-id\""

_UNCLOSED = {
    "'": "this text has no closing '",
    '"': 'this name has no closing "',
    "`": "this literal has no closing `",
}
_UNKNOWN: dict[str, tuple[str, str | None]] = {
    "=": ("a single '=' is not an operator", FixHint("write '=='", "==")),
    "%": ("there is no operator '%'", None),
    "+": ("there is no operator '+'", "write add(a, b), or concat(a, b) for texts"),
    "-": ("there is no operator '-'", MINUS_HINT),
    "/": ("there is no operator '/'", "write div(a, b)"),
    "\\": ("a backslash is only allowed inside quotes", None),
    "#": ("'#' has no meaning in an expression", "put the text in single quotes"),
    ";": ("one expression has no ';'", "join conditions with '&&'"),
}
_LOOKALIKES = dict(
    zip(
        "аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅαοεικρτυχνΑΒΕΖΗΙΚΜΝΟΡΤΥΧ−",  # noqa: RUF001 - they are the point
        "aeopcyxijshdqwABEKMHOPCTYXIJSaoeikptuxvABEZHIKMNOPTYX-",
        strict=True,
    )
)


def tokens(text: str) -> Iterator[Token]:
    """
    The tokens of a text, read only as far as the caller goes; `end` comes last. Raises
    ExpressionError.
    """
    position, length = 0, len(text)
    match = _TOKEN.match
    while position < length:
        if (found := match(text, position)) is None:
            raise _unreadable(text, position)
        kind, end = found.lastgroup, found.end()
        if kind == "symbol":
            symbol = found.group()
            yield symbol, symbol, position, end
        elif kind == "name":
            yield "name", found.group(), position, end
        elif kind != "space":
            assert kind is not None  # noqa: S101 - every alternative is named
            yield kind, _READ[kind](found.group(), position), position, end
        position = end
    yield "end", "", length, length


def _unreadable(text: str, position: int) -> ExpressionError:
    sign = text[position]
    if sign in _UNCLOSED:
        mend = f"is one missing before it? One inside of it is written \\{sign}"
        return ExpressionError(SYNTAX, _UNCLOSED[sign], position, len(text), mend)
    message, hint = _UNKNOWN.get(sign, (f"{sign!r} has no meaning here", None))
    if not sign.isascii():
        message, hint = f"{character(sign)} has no meaning here", _instead_of(sign)
    return ExpressionError(SYNTAX, message, position, position + 1, hint)


def _instead_of(sign: str) -> str:
    """How to write what a character beyond ASCII was probably meant to be."""
    category = unicodedata.category(sign)
    meant = (
        "-" if category == "Pd" else _LOOKALIKES.get(sign) or unicodedata.normalize("NFKC", sign)
    )
    if category in ("Cf", "Cc", "Zs", "Zl", "Zp") or not meant.strip():
        return "take it out, or write an ordinary space"
    if meant.isascii():
        return FixHint(f"write the ordinary '{meant}'", meant)
    return "a text goes in single quotes, a name with such letters in double quotes"


def _read_number(raw: str, start: int) -> int | Decimal:
    if len(raw) > DIGITS_MAX:
        raise ExpressionError(
            SYNTAX, f"a number has at most {DIGITS_MAX} digits", start, start + len(raw)
        )
    return Decimal(raw) if "." in raw else int(raw)


def _read_quoted(raw: str, start: int) -> str:
    try:
        name = decode_json(raw.encode())
    except (NotJson, UnicodeEncodeError):
        raise ExpressionError(
            SYNTAX, "this name is not a JSON text", start, start + len(raw)
        ) from None
    assert isinstance(name, str)  # noqa: S101 - it stands in double quotes
    return name


def _read_json(raw: str, start: int) -> Any:
    inner = raw[1:-1].replace("\\`", "`")
    try:
        return decode_json(inner.encode())
    except (NotJson, UnicodeEncodeError):
        pass
    try:  # JMESPath still takes a word in backticks as a text
        return decode_json(b'"' + inner.lstrip().encode() + b'"')
    except (NotJson, UnicodeEncodeError):
        raise ExpressionError(
            SYNTAX,
            "text in backticks must be JSON",
            start,
            start + len(raw),
            "a text goes in single quotes",
        ) from None


_READ: dict[str, Callable[[str, int], Any]] = {
    "text": lambda raw, _: raw[1:-1].replace("\\'", "'"),
    "number": _read_number,
    "quoted": _read_quoted,
    "json": _read_json,
}
