"""Headers that play a part, in any of their spellings, and no two values for one part."""

from collections.abc import Iterable, Sequence

import msgspec

from router.providers.definition import Names, spelled

Headers = Iterable[tuple[bytes, bytes]]


class Ambiguous(msgspec.Struct, frozen=True):
    """One part came with two different values; `header` is one of its names."""

    header: str


def wire(name: str) -> bytes:
    """A header's name as requests hold it."""
    return name.lower().encode("ascii")


class Spellings:
    """Finds headers by part; a part is known by its first spelling in lower case."""

    def __init__(self, parts: Sequence[Names]) -> None:
        self._part: dict[bytes, bytes] = {}
        for names in parts:
            each = [wire(name) for name in spelled(names)]
            # Parts that share a spelling are one part: else one of them would never be found.
            shared = [self._part[name] for name in each if name in self._part]
            for name in each:
                self._part.setdefault(name, (shared or each)[0])

    def part(self, names: Names) -> bytes | None:
        """The key under which `collect` returns the header; None for no header at all."""
        each = spelled(names)
        return self._part.get(wire(each[0])) if each else None

    def collect(self, headers: Headers) -> dict[bytes, bytes] | Ambiguous:
        """Part to value; the same value twice is one value."""
        found: dict[bytes, bytes] = {}
        part = self._part
        for name, value in headers:
            if name in part and found.setdefault(part[name], value) != value:
                return Ambiguous(part[name].decode("ascii"))
        return found

    def first(self, headers: Headers) -> dict[bytes, bytes]:
        """Part to the first value given; for requests that were verified already."""
        found: dict[bytes, bytes] = {}
        part = self._part
        for name, value in headers:
            if name in part:
                found.setdefault(part[name], value)
        return found
