"""Fingerprints of a ruleset's secrets, for the routers of one database to compare."""

import hmac
from collections.abc import Iterator, Mapping

from router.kinds.http import HttpSpec
from router.rules.ruleset import Ruleset
from router.store.values import Fingerprints

FINGERPRINT_BYTES = 2
"""
They show a difference, all but one in 65,536. Who reads the ledger reads the key as well and can
try values, but finds so many that fit that none is proved, however easily the secret is guessed.
"""


def fingerprints(ruleset: Ruleset, values: Mapping[str, bytes], key: bytes) -> Fingerprints:
    """Of each secret that has a value."""
    marks = {
        name: hmac.digest(key, value, "sha256")[:FINGERPRINT_BYTES].hex()
        for name, value in values.items()
    }
    found: dict[str, tuple[str, ...]] = {name: (mark,) for name, mark in marks.items()}
    for names in _lists(ruleset):
        for name in marks.keys() & {*names}:
            found[name] += tuple(marks[n] for n in names if n in marks and n != name)
    return found


def _lists(ruleset: Ruleset) -> Iterator[tuple[str, ...]]:
    """Secrets that stand together, for one to take the place of another."""
    for endpoint in ruleset.endpoints.values():
        yield endpoint.secrets
    for rule in ruleset.rules:
        for action in rule.actions:
            if isinstance(action.spec, HttpSpec) and action.spec.sign is not None:
                yield action.spec.sign.secrets
