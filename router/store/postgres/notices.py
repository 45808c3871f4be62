"""What routers that share a ledger tell each other at once: which targets have new jobs."""

from collections.abc import Iterable

CHANNEL = "router"
_BYTES_MAX = 4_000
"""PostgreSQL takes 8,000."""


def notice(targets: Iterable[str]) -> str:
    """
    The text for `pg_notify`: targets, with commas between them; empty: whoever hears it looks
    himself.
    """
    named = sorted(set(targets))
    text = ",".join(named)
    if len(text.encode()) > _BYTES_MAX or any("," in target for target in named):
        return ""
    return text
