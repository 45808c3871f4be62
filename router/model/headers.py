"""The headers of a request: what a value is, what is kept, those of one name together."""

from functools import lru_cache

from router.model.delivery import REMOVED

BLANKS = b" \t"
"""What may stand around a header's value and is no part of it (RFC 9110, section 5.5)."""

_SENSITIVE = frozenset({b"authorization", b"cookie", b"proxy-authorization"})


def kept_headers(headers: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[str, str], ...]:
    """Headers as text, credentials removed before anything stores or matches them."""
    kept = []
    for name, value in headers:
        text, sensitive = _header_name(name)
        kept.append((text, REMOVED if sensitive else value.decode("latin-1")))
    return tuple(kept)


@lru_cache(maxsize=512)
def _header_name(name: bytes) -> tuple[str, bool]:
    return name.decode("latin-1"), name in _SENSITIVE or name.startswith(b"proxy-")


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
