"""
The table of functions, plain data: the type check, the compiler and docs/functions.md read it.

Types are JMESPath's words: any, null, boolean, number, string, array, object, expref, and
`array[number]`, `array[string]`.
"""

from typing import Literal

import msgspec

Origin = Literal["standard", "ours"]


class Parameter(msgspec.Struct, frozen=True):
    """
    One parameter. `repeated` takes one or more arguments (the last parameter only).

    A null (or absent) argument of a `subject` makes the whole result null (or absent). A `pattern`
    is a regular expression, written in the call itself.
    """

    name: str
    types: tuple[str, ...]
    optional: bool = False
    repeated: bool = False
    subject: bool = False
    pattern: bool = False


class Function(msgspec.Struct, frozen=True):
    """
    One function. `scoped` ones read the delivery's time; `lazy` ones evaluate only the arguments
    they need. Any absent argument of a `whole` one makes its result absent.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: str
    about: str
    origin: Origin
    scoped: bool = False
    lazy: bool = False
    whole: bool = False

    @property
    def least(self) -> int:
        """How many arguments it needs."""
        return sum(not parameter.optional for parameter in self.parameters)

    @property
    def most(self) -> int | None:
        """How many arguments it takes; None for any number."""
        return None if self.parameters and self.parameters[-1].repeated else len(self.parameters)

    def parameter(self, position: int) -> Parameter:
        """The parameter that the argument at this position (from 0) belongs to."""
        return self.parameters[min(position, len(self.parameters) - 1)]

    def usage(self) -> str:
        """How a call is written: `lookup(map, key[, fallback])`."""
        text = ""
        for position, parameter in enumerate(self.parameters):
            piece = (", " if position else "") + parameter.name
            piece += ", …" if parameter.repeated else ""
            text += f"[{piece}]" if parameter.optional else piece
        return f"{self.name}({text})"


def _one(name: str, *types: str) -> Parameter:
    return Parameter(name, types)


def _subject(name: str, *types: str) -> Parameter:
    return Parameter(name, types, subject=True)


def _standard(name: str, result: str, about: str, *parameters: Parameter) -> Function:
    return Function(name, parameters, result, about, "standard")


def _ours(name: str, result: str, about: str, *parameters: Parameter) -> Function:
    return Function(name, parameters, result, about, "ours")


_NUMBERS = _one("numbers", "array[number]")
_SORTABLE = _one("list", "array[number]", "array[string]")
_LIST = _one("list", "array")
_BY = _one("by", "expref")
_TEXT = _subject("text", "string")
_PATTERN = Parameter("pattern", ("string",), pattern=True)
_TWO = (_subject("a", "number"), _subject("b", "number"))
_ANY = _one("value", "any")

_TABLE = (
    _standard("abs", "number", "The number without its sign", _one("number", "number")),
    _standard("avg", "number", "The mean; null for an empty list", _NUMBERS),
    _standard(
        "contains",
        "boolean",
        "Whether the list holds the value, or the text holds the part",
        _one("subject", "array", "string"),
        _one("search", "any"),
    ),
    _standard("ceil", "number", "The next whole number upwards", _one("number", "number")),
    _standard(
        "ends_with",
        "boolean",
        "Whether the text ends with the part",
        _one("text", "string"),
        _one("part", "string"),
    ),
    _standard("floor", "number", "The next whole number downwards", _one("number", "number")),
    _standard(
        "join",
        "string",
        "The texts joined, with glue between them",
        _one("glue", "string"),
        _one("texts", "array[string]"),
    ),
    _standard("keys", "array[string]", "The object's names", _one("object", "object")),
    _standard(
        "length",
        "number",
        "How many characters, elements or names",
        _one("subject", "string", "array", "object"),
    ),
    _standard(
        "map", "array", "The expression's value for every element, null included", _BY, _LIST
    ),
    _standard("max", "any", "The greatest; null for an empty list", _SORTABLE),
    _standard("max_by", "any", "The element with the greatest value of the expression", _LIST, _BY),
    _standard(
        "merge",
        "object",
        "All names of all objects; the last one wins",
        Parameter("object", ("object",), repeated=True),
    ),
    _standard("min", "any", "The least; null for an empty list", _SORTABLE),
    _standard("min_by", "any", "The element with the least value of the expression", _LIST, _BY),
    _standard(
        "not_null",
        "any",
        "The first argument that is not null",
        Parameter("value", ("any",), repeated=True),
    ),
    _standard("reverse", "any", "The list or text backwards", _one("subject", "array", "string")),
    _standard("sort", "array", "The list in ascending order", _SORTABLE),
    _standard("sort_by", "array", "The list in order of the expression's values", _LIST, _BY),
    _standard(
        "starts_with",
        "boolean",
        "Whether the text starts with the part",
        _one("text", "string"),
        _one("part", "string"),
    ),
    _standard("sum", "number", "The exact sum", _NUMBERS),
    _standard("to_array", "array", "The list itself, or a list of the one value", _ANY),
    _standard("to_number", "number", "The number a text shows, exactly; else null", _ANY),
    _standard("to_string", "string", "The text itself, or the value as JSON", _ANY),
    _standard("type", "string", "JMESPath's word for the value's type", _ANY),
    _standard("values", "array", "The object's values", _one("object", "object")),
    _ours("lower", "string", "The text in lower case", _TEXT),
    _ours("upper", "string", "The text in upper case", _TEXT),
    _ours("trim", "string", "The text without white space at its ends", _TEXT),
    _ours(
        "split",
        "array[string]",
        "The text's parts between separators, trimmed; an empty text has none",
        _TEXT,
        _one("separator", "string"),
    ),
    _ours(
        "replace",
        "string",
        "The text with every `old` made `new`",
        _TEXT,
        _one("old", "string"),
        _one("new", "string"),
    ),
    _ours(
        "concat",
        "string",
        "Texts, numbers and booleans joined to one text",
        Parameter("part", ("string", "number", "boolean"), repeated=True, subject=True),
    ),
    _ours("lines", "array[string]", "The lines of a text", _TEXT),
    _ours(
        "glob",
        "boolean",
        "Whether the whole text fits the pattern; `*` is any run of characters; case counts",
        _TEXT,
        _one("pattern", "string"),
    ),
    _ours(
        "any_glob",
        "boolean",
        "Whether any text of the list fits the pattern, as `glob` has it",
        _subject("list", "array"),
        _one("pattern", "string"),
    ),
    _ours(
        "matches",
        "boolean",
        "Whether the regular expression fits any part of the text; case counts",
        _TEXT,
        _PATTERN,
    ),
    _ours(
        "capture",
        "any",
        "What the regular expression found: an object of its named groups, else the text of its "
        "first group, else all that it fits; null if it fits nothing",
        _TEXT,
        _PATTERN,
    ),
    Function(
        "if",
        (_one("condition", "any"), _one("then", "any"), _one("else", "any")),
        "any",
        "Reads the condition as `match` does and evaluates one of the two",
        "ours",
        lazy=True,
    ),
    Function(
        "default",
        (_one("value", "any"), _one("fallback", "any")),
        "any",
        "The value, or the fallback when it is null or absent",
        "ours",
        lazy=True,
    ),
    Function(
        "exists",
        (_one("path", "any"),),
        "boolean",
        "Whether the field is there; a present null is",
        "ours",
        lazy=True,
    ),
    _ours(
        "lookup",
        "any",
        "The object's value for a key, else the fallback (else null)",
        _one("map", "object", "null"),
        _one("key", "string", "number", "boolean", "null"),
        Parameter("fallback", ("any",), optional=True),
    ),
    _ours("add", "number", "a + b, exactly", *_TWO),
    _ours("sub", "number", "a - b, exactly", *_TWO),
    _ours("mul", "number", "a · b, exactly", *_TWO),
    _ours("div", "number", "a / b, to at least 34 digits", *_TWO),
    _ours(
        "round",
        "number",
        "Rounded to places after the point (0), halves to the even digit",
        _subject("number", "number"),
        Parameter("places", ("number",), optional=True),
    ),
    _ours(
        "decimal",
        "number",
        "The exact number a text shows (`'512.50'`); any other text is an error",
        _subject("value", "string", "number"),
    ),
    _ours(
        "date",
        "string",
        "The day in UTC (`2026-11-20`) of an RFC 3339 time or of Unix seconds",
        _subject("time", "string", "number"),
    ),
    Function("now", (), "string", "When the delivery was received", "ours", scoped=True),
    Function(
        "age",
        (_subject("time", "string", "number"),),
        "number",
        "Seconds from a time (RFC 3339, or Unix seconds) to the delivery",
        "ours",
        scoped=True,
    ),
    _ours(
        "cidr",
        "boolean",
        "Whether the address lies in a range, or in one of several",
        _subject("ip", "string"),
        _one("ranges", "string", "array[string]"),
    ),
    _ours("domain_of", "string", "The domain of an e-mail address or URL, in lower case", _TEXT),
    _ours("base64", "string", "The text's UTF-8 bytes in Base64", _TEXT),
    _ours("sha256", "string", "The SHA-256 of the text's UTF-8 bytes, in hex", _TEXT),
    _ours("parse_json", "any", "The value of a JSON text; any other text is an error", _TEXT),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _TABLE}
"""Every function by its name."""
