"""The headers of a request: what a value is, and what the ledger keeps."""

from functools import lru_cache

from router.model.delivery import REMOVED

BLANKS = b" \t"
"""What may stand around a header's value and is no part of it (RFC 9110, section 5.5)."""

_SENSITIVE = frozenset({b"authorization", b"cookie", b"proxy-authorization"})


def kept_headers(headers: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[str, str], ...]:
    """Headers as text, credentials removed before anything stores or matches them."""
    return tuple(
        [
            (name.decode("latin-1"), REMOVED)
            if (text := _open_name(name)) is None
            else (text, value.decode("latin-1"))
            for name, value in headers
        ]
    )


@lru_cache(maxsize=512)
def _open_name(name: bytes) -> str | None:
    """A header's name as text; None: what it says is a credential."""
    sensitive = name in _SENSITIVE or name.startswith(b"proxy-")
    return None if sensitive else name.decode("latin-1")


def joined_headers(headers: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Header names to values, repeats joined by `, `."""
    joined = dict(headers)
    if len(joined) == len(headers):  # no name twice
        return joined
    joined.clear()
    for name, value in headers:
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def header_of(headers: tuple[tuple[str, str], ...], name: str) -> str:
    """The value of one, as `joined_headers` has it; empty when it is not there."""
    return ", ".join([value for one, value in headers if one == name])
