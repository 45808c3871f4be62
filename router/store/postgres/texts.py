"""Text from outside as PostgreSQL can keep it: its text has no U+0000."""

from typing import TypeVar

_NUL, _MARK = "\x00", "\ue000"

T = TypeVar("T", str, str | None)


def escape(text: T) -> T:
    """
    The text as it is stored. Texts that begin with or equal one another still do so, and one
    between two separators is still found; None stays None.
    """
    if text is None or (_NUL not in text and _MARK not in text):
        return text
    return text.replace(_MARK, _MARK + "1").replace(_NUL, _MARK + "0")


def unescape(text: T) -> T:
    """What `escape` was given."""
    if text is None or _MARK not in text:
        return text
    return text.replace(_MARK + "0", _NUL).replace(_MARK + "1", _MARK)
