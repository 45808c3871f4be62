"""What no line may hold."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

SECRET_MIN_BYTES = 6
MASK = "***"

_PEM_LINE_MIN = 16


class Redactor:
    """The secret values that no line may hold."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def register(self, values: Iterable[bytes | str]) -> None:
        """
        Mask these from now on. Values under 6 bytes are ignored: masking them would only spoil
        lines and show where they are. Of a PEM every line of the key counts by itself.
        """
        for value in values:
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            self._known.update(_forms(text))
        encoded = {msgspec.json.encode(form).decode()[1:-1] for form in self._known}
        ordered = sorted(self._known | encoded, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def hits(self, text: str) -> bool:
        """Whether the text, or the JSON it is, holds a known secret."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def text(self, text: str) -> str:
        """The text with every known secret masked."""
        return self._pattern.sub(MASK, text) if self._pattern else text

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


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a foreign __str__ may do anything; a log line may not fail
        return f"<{type(value).__name__}>"


def _forms(text: str) -> set[str]:
    stripped = text.strip()
    forms = {stripped}
    lines = stripped.splitlines()
    if len(lines) > 1:
        forms.update(line for line in lines if len(line) >= _PEM_LINE_MIN and "-----" not in line)
    return {form for form in forms if len(form.encode()) >= SECRET_MIN_BYTES}


REDACTOR = Redactor()
"""The process's one; whoever reads secrets registers them here before using them."""
