"""The flags of a delivery, in words."""

from collections.abc import Iterable

WORDS = {
    "blanked": "its whole body was taken out, as the values could not be cut out of it",
    "api_version": "made by another API version than the endpoint expects",
    "no_id": "the sender's id is missing",
    "no_key": "the dedupe key is missing",
    "redacted": "values were taken out of it",
    "recovered": "fetched from its sender's API, which could not deliver it",
}


def flags_text(flags: Iterable[str]) -> str:
    """`api_version: made by another …; no_id: …`, or nothing."""
    return "; ".join(f"{flag}: {WORDS[flag]}" if flag in WORDS else flag for flag in flags)
