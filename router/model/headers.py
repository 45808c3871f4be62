"""The headers of a request: what a value is, and what the ledger keeps."""

from router.model.delivery import REMOVED

BLANKS = b" \t"
"""What may stand around a header's value and is no part of it (RFC 9110, section 5.5)."""

_SENSITIVE = frozenset({b"authorization", b"cookie", b"proxy-authorization"})


def kept_headers(headers: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[str, str], ...]:
    """Headers as text, credentials removed before anything stores or matches them."""
    known = _PLAIN.get
    return tuple(
        [
            (text, value.decode("latin-1")) if (text := known(name)) else _kept(name, value)
            for name, value in headers
        ]
    )


_PLAIN: dict[bytes, str] = {}
"""Names that came lately and are those of no credentials, as text."""
_PLAIN_MAX = 512


def _kept(name: bytes, value: bytes) -> tuple[str, str]:
    """A header whose name did not come lately."""
    text = name.decode("latin-1")
    if name in _SENSITIVE or name.startswith(b"proxy-"):
        return text, REMOVED
    if len(_PLAIN) >= _PLAIN_MAX:
        _PLAIN.clear()
    _PLAIN[name] = text
    return text, value.decode("latin-1")


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
