"""Functions over texts. Every result is bounded."""

import base64 as _base64
import hashlib
from typing import Any

from router.errors import EvaluationError
from router.expressions.absent import JSON
from router.expressions.compare import exact
from router.expressions.json_text import NotJson, decode_json, encode_json
from router.model.patterns import wildcard
from router.structure import too_complex

TEXT_MAX = 1_048_576
_HALF = "\ud800"
"""Half of a character: no text of a payload has it."""


def _check_size(size: int) -> None:
    if size > TEXT_MAX:
        raise EvaluationError(f"a text would have more than {TEXT_MAX:,} characters")


def _bounded(text: str) -> str:
    _check_size(len(text))
    return text


def split(text: str, separator: str) -> list[str]:
    if not separator:
        raise EvaluationError("split() needs a separator that is not empty")
    return [part.strip() for part in text.split(separator)] if text.strip() else []


def replace(text: str, old: str, new: str) -> str:
    if not old:
        raise EvaluationError("replace() needs an `old` that is not empty")
    if len(new) > len(old):
        _check_size(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def plain_text(value: JSON) -> str:
    """A text, number or boolean as text; numbers digit for digit."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    number = exact(value)
    if isinstance(number, int):
        return f"{number:d}"
    return f"{number:f}" if abs(number.adjusted()) <= TEXT_MAX // 2 else str(number)


def concat(*parts: JSON) -> str:
    return join("", [plain_text(part) for part in parts])


def join(glue: str, texts: list[str]) -> str:
    _check_size(sum(map(len, texts)) + len(glue) * len(texts))
    return glue.join(texts)


def lines(text: str) -> list[str]:
    found = text.replace("\r\n", "\n").split("\n")
    if found[-1] == "":
        found.pop()
    return found


def to_string(value: JSON) -> str:
    return value if isinstance(value, str) else _bounded(encode_json(value).decode())


def glob(text: str, pattern: str) -> bool:
    """`*` is any run of characters; a `**/` that begins a folder's name may be nothing, too."""
    if "**/" not in pattern:
        return wildcard(pattern, text)
    # Each `/` is two characters: those around a `**` may be those of one `/` of the text.
    pattern, text = (f"/{one}".replace("/", f"/{_HALF}") for one in (pattern, text))
    return wildcard(pattern.replace(f"/{_HALF}**/{_HALF}", f"/**{_HALF}"), text)


def any_glob(items: list[JSON], pattern: str) -> bool:
    return any(isinstance(item, str) and glob(item, pattern) for item in items)


def domain_of(text: str) -> str:
    """`Ann <ann@Shop.example>`, `https://shop.example:8443/x` and `shop.example` alike."""
    host = text.strip()
    _, scheme, rest = host.partition("://")
    if scheme:
        host = rest
        for mark in "/?#":
            host = host.partition(mark)[0]
    host = host.rpartition("@")[2].strip().rstrip(">").strip()
    if not host.startswith("["):
        host = host.partition(":")[0]
    return host.rstrip(".").lower()


def base64(text: str) -> str:
    _check_size(len(text) * 4 // 3)
    return _base64.b64encode(_utf8(text)).decode()


def parse_json(text: str) -> JSON:
    data = _utf8(_bounded(text))
    if reason := too_complex(data):
        raise EvaluationError(f"parse_json() reads no text that is {reason}")
    try:
        return decode_json(data)
    except NotJson:
        raise EvaluationError("parse_json() got a text that is no JSON") from None


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


TEXT_FUNCTIONS: dict[str, Any] = {
    "lower": lambda text: _bounded(text).lower(),
    "upper": lambda text: _bounded(text).upper(),
    "trim": str.strip,
    "split": split,
    "replace": replace,
    "concat": concat,
    "join": join,
    "lines": lines,
    "glob": glob,
    "any_glob": any_glob,
    "to_string": to_string,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "domain_of": domain_of,
    "base64": base64,
    "parse_json": parse_json,
    "sha256": lambda text: hashlib.sha256(_utf8(text)).hexdigest(),
}
