"""What no line, and no output that is kept, may hold."""

import base64
import json
import re
from collections.abc import Callable, Iterable
from typing import Any, AnyStr
from urllib.parse import quote, quote_plus

SECRET_MIN_BYTES = 6
OUTPUT_MIN_BYTES = 8
"""Shorter values would spoil what programs print by chance."""
GIVEN_MIN_BYTES = 4
MASK = "***"

_PEM_LINE_MIN = 16
_PART_MIN = 4
"""Fewer characters of a secret that a cut has left give nothing away."""


_TORN_LETTER, _TORN_END = re.compile("\ufffd{1,3}"), re.compile("\ufffd\\Z")
"""What decoding makes of a letter that was cut: at the beginning a mark for each byte left."""


class Redactor:
    """
    The secret values that no text may hold: those of `least` bytes and more; with `encoded` also
    as they stand within base64 and percent-encoded text.
    """

    def __init__(
        self, least: int = SECRET_MIN_BYTES, *, encoded: bool = False, mask: str = MASK
    ) -> None:
        self._least = least
        self._mask = mask
        self._encoded = encoded
        self.forms: tuple[str, ...] = ()
        """Every text that is masked, longer ones first."""

    def register(self, values: Iterable[bytes | str]) -> None:
        """
        Mask these from now on. Shorter values are ignored: masking them would only spoil lines and
        show where they are. Of a PEM every line of the key counts by itself.
        """
        known = set(self.forms)
        for value in values:
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            for plain in _lines(text):
                if len(plain.encode("utf-8", "replace")) >= self._least:
                    known.update(_forms(plain, encoded=self._encoded))
        self.forms = tuple(sorted(known, key=len, reverse=True))

    def with_(self, values: Iterable[str]) -> "Redactor":
        """One that masks these too, shorter ones as well: a call was given them as secrets."""
        found = Redactor(GIVEN_MIN_BYTES, encoded=self._encoded)
        found.forms = self.forms
        found.register(values)
        return found

    def hits(self, text: str) -> bool:
        """Whether the text, or the JSON it is, holds a known secret."""
        # Faster than one pattern of them all, and than a generator of the answers.
        for form in self.forms:  # noqa: SIM110
            if form in text:
                return True
        return False

    def text(self, text: str) -> str:
        """The text with every known secret masked."""
        if not self.hits(text):
            return text
        found = (re.escape(form) for form in self.forms if form in text)
        return re.sub("|".join(found), self._mask, text)

    def cut_text(self, text: str, *, start: bool = False, end: bool = False) -> str:
        """
        As `text`, for one that was cut: what is left of a secret at the cut is masked as well.
        """
        if start:
            torn = _TORN_LETTER.match(text)
            whole = text[torn.end() :] if torn else text
            if (left := end_of_one(whole, self.forms)) >= _PART_MIN:
                text = MASK + whole[left:]
        if end:
            torn = _TORN_END.search(text)
            whole = text[: torn.start()] if torn else text
            if (left := beginning_of_one(whole, self.forms)) >= _PART_MIN:
                text = whole[:-left] + MASK
        return self.text(text)

    def json_value(self, value: Any) -> Any:
        """A JSON value with every known secret masked, keys included; all else stays as it is."""
        texts = list(_texts(value))
        return self._json(value) if texts and self.hits("\0".join(texts)) else value

    def _json(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self._json(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._json(item) for item in value]
        return value

    def value(self, value: Any) -> Any:
        """The value as JSON data with every known secret masked, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self.text(bytes(value).decode("utf-8", "backslashreplace"))
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.value(item) for item in value]
        return self.text(_text(value))


def beginning_of_one(text: AnyStr, forms: Iterable[AnyStr]) -> int:
    """How much of a text's end is the beginning of one of these, but not the whole of it."""
    return _longest(text, forms, lambda form, length: text.endswith(form[:length]))


def end_of_one(text: AnyStr, forms: Iterable[AnyStr]) -> int:
    """How much of a text's beginning is the end of one of these, but not the whole of it."""
    return _longest(text, forms, lambda form, length: text.startswith(form[-length:]))


def _longest(text: AnyStr, forms: Iterable[AnyStr], fits: Callable[[AnyStr, int], bool]) -> int:
    longest = 0
    for form in forms:
        lengths = range(min(len(form) - 1, len(text)), longest, -1)
        longest = next((length for length in lengths if fits(form, length)), longest)
    return longest


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a foreign __str__ may do anything; a log line may not fail
        return f"<{type(value).__name__}>"


def _lines(text: str) -> Iterable[str]:
    """The value without blanks around it, and of a PEM the lines of the key."""
    stripped = text.strip()
    yield stripped
    lines = stripped.splitlines()
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _PEM_LINE_MIN and "-----" not in line)


def _forms(plain: str, *, encoded: bool) -> Iterable[str]:
    """A value as it is, as it stands in JSON, and as it does in other encodings."""
    escaped = json.dumps(plain, ensure_ascii=False)[1:-1]
    yield from (plain, escaped)
    if encoded:
        data = plain.encode("utf-8", "surrogateescape")
        yield from (escaped.replace("/", "\\/"), quote(data, safe=""), quote(data))
        yield from (quote_plus(data), json.dumps(plain)[1:-1])
        yield from _base64(data)


def _base64(data: bytes) -> Iterable[str]:
    """
    What stands in base64 wherever this is a part of the encoded data: its bytes can begin at each
    third of a group, and its first and last letter may belong to its neighbours too.
    """
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        first = (0, 2, 3)[before]
        last = len(text) - (1 if (before + len(data)) % 3 else 0)
        yield text[first:last]
        yield text[first:last].replace("+", "-").replace("/", "_")


REDACTOR = Redactor()
OUTPUTS = Redactor(OUTPUT_MIN_BYTES, encoded=True)
"""The process's two: for its log and pages, and for what actions leave in the store."""


def keep_secret(values: Iterable[bytes | str]) -> None:
    """Mask these everywhere from now on; whoever reads secrets says so here before using them."""
    known = tuple(values)
    REDACTOR.register(known)
    OUTPUTS.register(known)
