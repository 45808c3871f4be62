"""How fetches go, by address: the last good one, the last failure, how many have failed."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from router.model.fetched import Fetched, FetchedKind

CHOSEN_MAX = 64
"""Certificates at addresses that requests chose; all others the operator or a definition named."""


class Fetches:
    """A notebook that all who fetch write in."""

    def __init__(self) -> None:
        self._by_address: dict[str, Fetched] = {}
        self.failures: Counter[str] = Counter()
        """How many failed so far, by kind as a metric's label writes it."""

    def good(self, address: str, kind: FetchedKind, at: int) -> None:
        """It gave a good answer then, here or to an earlier run."""
        before = self._by_address.get(address, Fetched(kind))
        if (before.failed_at or 0) > at:
            self._write(address, msgspec.structs.replace(before, at=max(at, before.at or 0)))
        elif (before.at or 0) < at:
            self._write(address, Fetched(kind, at))

    def failed(self, address: str, kind: FetchedKind, at: int, words: str) -> None:
        """It gave none then; `words` of our own say why."""
        before = self._by_address.get(address)
        self.failures[kind.replace(" ", "_")] += 1
        self._write(address, Fetched(kind, before.at if before else None, at, words))

    def _write(self, address: str, found: Fetched) -> None:
        self._by_address.pop(address, None)
        self._by_address[address] = found
        if found.kind == "certificate":
            chosen = [a for a, one in self._by_address.items() if one.kind == "certificate"]
            for late in chosen[:-CHOSEN_MAX]:
                del self._by_address[late]

    def needed(self, kind: FetchedKind, addresses: Iterable[str]) -> None:
        """Of this kind these are needed now, and no others."""
        wanted = dict.fromkeys(addresses)
        for gone in [a for a, f in self._by_address.items() if f.kind == kind and a not in wanted]:
            del self._by_address[gone]
        for address in wanted:
            self._by_address.setdefault(address, Fetched(kind))

    def states(self) -> dict[str, Fetched]:
        """Every address as it stands."""
        return dict(self._by_address)

    def known(self) -> Mapping[str, int]:
        """How many keys of each kind are known, by kind as a metric's label writes it."""
        found = Counter(f.kind for f in self._by_address.values() if f.at is not None)
        return {"key_set": found["key set"], "certificate": found["certificate"]}

    def good_at(self, kind: str) -> Mapping[str, float]:
        """When each address of a kind last gave a good answer, in Unix seconds."""
        found = self._by_address.items()
        return {a: f.at / 1000 for a, f in found if f.kind == kind and f.at is not None}
