"""What totals have grown by is written once, also where a store fails on the way."""

from collections.abc import Iterator, Sequence

import pytest

from router.errors import StoreUnavailable
from router.serving.differences import STEP, Differences


class Kept:
    """A store of numbers that can fail."""

    def __init__(self) -> None:
        self.sums: dict[str, int] = {}
        self.fails_at = -1
        self.calls = 0

    async def add(self, records: Sequence[tuple[str, int]]) -> None:
        self.calls += 1
        if self.calls == self.fails_at:
            raise StoreUnavailable("full")
        for key, grown in records:
            self.sums[key] = self.sums.get(key, 0) + grown


def grown(key: str, before: int | None, now: int) -> Iterator[tuple[str, int]]:
    if now != before:
        yield key, now - (before or 0)


@pytest.mark.parametrize("fails_at", [1, 2, 3, 4])
async def test_what_could_not_be_written_goes_with_the_next(fails_at: int) -> None:
    """Of several steps those before it are written, and not again."""
    kept = Kept()
    differences = Differences(grown, kept.add)
    totals = {f"k{n}": 1 for n in range(2 * STEP)}
    kept.fails_at = fails_at
    for times in (1, 2):
        totals = dict.fromkeys(totals, times)
        try:
            await differences.write(totals)
        except StoreUnavailable:
            assert kept.calls == fails_at
    await differences.write(totals)
    assert kept.sums == totals


async def test_where_nothing_changed_the_store_is_not_asked() -> None:
    kept = Kept()
    differences = Differences(grown, kept.add)
    for _ in range(2):
        await differences.write({"a": 3})
    assert (kept.calls, kept.sums) == (1, {"a": 3})


async def test_a_change_without_records_is_none_for_the_store() -> None:
    kept = Kept()
    differences = Differences(lambda _key, _before, _now: iter(()), kept.add)
    await differences.write({"a": 3})
    assert kept.calls == 0
