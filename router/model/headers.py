"""The headers of a request as the ledger keeps them."""

from functools import lru_cache

from router.model.delivery import REMOVED

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
