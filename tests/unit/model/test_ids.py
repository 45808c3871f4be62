"""Ids: of their millisecond, each one new, in the order in which they were made."""

import random

from router.model.ids import Ids, earliest
from tests.builders import NOW


class Bits(random.Random):
    """Draws what it was given, in turn."""

    def __init__(self, *drawn: int) -> None:
        super().__init__(0)
        self.left = list(drawn)

    def getrandbits(self, k: int) -> int:
        found = self.left.pop(0)
        assert found < 2**k
        return found


def test_an_id_is_its_prefix_its_time_and_80_bits() -> None:
    """In the alphabet of ULIDs, most significant digit first."""
    ids = Ids(Bits(31, 32**12 - 1))
    assert ids.new("dlv", 1) == "dlv_0000000001" + "Z" * 12 + "000Z"
    assert Ids(Bits(2**20 - 1, 0)).new("job", 2**48 - 1) == "job_7ZZZZZZZZZ" + "0" * 12 + "ZZZZ"


def test_within_a_millisecond_they_are_counted_up() -> None:
    ids = Ids(Bits(30, 0))
    first = "evt_0000000001" + "0" * 12
    assert [ids.new("evt", 1)[-4:] for _ in range(3)] == ["000Y", "000Z", "0010"]
    assert ids.new("evt", 1) == f"{first}0011"


def test_each_millisecond_and_a_full_count_draw_anew() -> None:
    """Also one that was there before: clocks go back."""
    ids = Ids(Bits(7, 1, 7, 2, 2**20 - 1, 3, 0, 4))
    made = [ids.new("job", at)[-5:] for at in (5, 6, 5, 5)]
    assert made == ["10007", "20007", "3ZZZZ", "40000"]


def test_ids_sort_by_time_and_are_never_the_same() -> None:
    ids, others = Ids(random.Random(1)), Ids(random.Random(2))
    made = [one.new("dlv", NOW + n // 500) for n in range(5_000) for one in (ids, others)]
    assert len(set(made)) == len(made) == 10_000
    assert sorted(made, key=lambda id_: id_[:14]) == made
    assert all(made[n] >= earliest("dlv", NOW + n // 1000) for n in range(10_000))
    assert max(made[:1000]) < earliest("dlv", NOW + 1)
