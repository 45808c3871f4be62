"""What grows is found; what jumps about, or is warm after a while, is not."""

import random

import pytest

from tests.soak.drift import BOUNDS, between, slope, trend


def points(first: float, growth: float, noise: float = 0.0) -> list[tuple[float, float]]:
    """A life of 400 s that is warm from its first quarter on."""
    rng = random.Random(1)
    cold = [(float(at), first / 2) for at in range(0, 100, 5)]
    warm = [
        (float(at), first + growth * (at - 100) / 300 + rng.uniform(-noise, noise))
        for at in range(100, 401, 5)
    ]
    return cold + warm


@pytest.mark.parametrize("measure", BOUNDS)
def test_growth_beyond_the_bound_is_found_and_less_is_not(measure: str) -> None:
    allowed = BOUNDS[measure].share * 100 + BOUNDS[measure].more
    more, less = (trend(measure, points(100, part * allowed)) for part in (1.5, 0.7))
    assert more is not None
    assert more.too_much
    assert less is not None
    assert not less.too_much


def test_a_few_wild_values_do_not_count() -> None:
    calm = points(100, 0, noise=2)
    wild = [(at, value + 1_000 * (100 <= at <= 120)) for at, value in calm]
    found = trend("RSS", wild)
    assert found is not None
    assert abs(found.growth) < 2


def test_a_short_life_says_nothing() -> None:
    assert trend("RSS", []) is None
    assert trend("RSS", [(0, 1), (5, 9), (10, 99)]) is None


def test_what_is_more_in_a_later_life_is_found() -> None:
    young, old = points(100, 0), points(140, 0)
    assert between("RSS", young, old).too_much
    assert not between("RSS", young, young).too_much


def test_the_slope_of_a_line_is_its_own() -> None:
    assert slope([(0, 1), (1, 3), (4, 9)]) == 2
    assert slope([(0, 1)]) == 0
