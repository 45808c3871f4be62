"""Durations and sizes as people write them in files: a whole number and a unit."""

import re
from collections.abc import Mapping

from router.legible import cut

_DURATION_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SIZE = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_WHOLE = re.compile(r"([0-9]{1,12})\s*([A-Za-z]*)")


def duration_ms(text: str) -> int:
    """
    Milliseconds of `500ms`, `20s`, `10m`, `2h`, `7d`.

    Raises:
        ValueError: it is none; the text says what was expected.
    """
    return _measured(text, _DURATION_MS, "a duration", "'30s', with ms, s, m, h or d")


def duration_text(milliseconds: int) -> str:
    """As a file writes it, in the largest unit that gives a whole number: `90s`, `2m`."""
    fitting = (n for n, size in reversed(_DURATION_MS.items()) if milliseconds % size == 0)
    unit = next(fitting) if milliseconds else "s"
    return f"{milliseconds // _DURATION_MS[unit]}{unit}"


def size_bytes(text: str) -> int:
    """
    Bytes of `64KiB`, `5MiB`, `10GiB`.

    Raises:
        ValueError: it is none; the text says what was expected.
    """
    return _measured(text, _SIZE, "a size", "'5MiB', with KiB, MiB or GiB")


def _measured(text: str, units: Mapping[str, int], what: str, example: str) -> int:
    shown, found = cut(text, 40), _WHOLE.fullmatch(text)
    if not found:
        raise ValueError(f"'{shown}' is not {what}; expected a whole number like {example}")
    if found[2] not in units:
        problem = f"has the unknown unit '{cut(found[2], 40)}'" if found[2] else "has no unit"
        raise ValueError(f"'{shown}' {problem}; expected {what} like {example}")
    return int(found[1]) * units[found[2]]
