"""
What `python -m tests.faults.timing` measures by; nothing here depends on how long anything takes.

That comparisons are made in constant time is shown by tests/unit/providers/test_constant_time.py.
"""

import random
from array import array

import pytest

from router.model.delivery import Refused
from tests.faults.timing import (
    LIMIT,
    Question,
    addresses,
    answered,
    cropped,
    measured,
    questions,
    welch,
)

pytestmark = pytest.mark.long


def samples(difference: float, seed: int = 1) -> tuple[list[float], list[float]]:
    rng = random.Random(seed)
    return (
        [rng.gauss(1_000, 50) for _ in range(5_000)],
        [rng.gauss(1_000 + difference, 50) for _ in range(5_000)],
    )


def test_a_published_example_of_welch_s_t() -> None:
    one = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4]
    two = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4]
    assert round(welch(one, two), 2) == -2.46


@pytest.mark.parametrize(("difference", "shows"), [(0, False), (10, True), (-10, True)])
def test_a_difference_shows_and_none_does_not(difference: float, shows: bool) -> None:
    assert (max(map(abs, cropped(*samples(difference)).values())) >= LIMIT) is shows


def test_a_rare_long_pause_hides_no_difference() -> None:
    one, other = samples(10)
    one[::500] = [1e9] * len(one[::500])
    scores = cropped(one, other)
    assert abs(scores[1.0]) < LIMIT < abs(scores[0.99])


@pytest.mark.parametrize(
    ("shows", "difference", "right"),
    [(False, 0, True), (False, 900, False), (True, 900, True), (True, 0, False), (None, 900, True)],
)
def test_what_must_show_and_what_must_not(shows: bool | None, difference: int, right: bool) -> None:
    question = Question("any", id, int, int, shows)
    one, other = (array("q", map(round, each)) for each in samples(difference))
    assert answered(question, (one, other)).right(noise=1.0) is right


def test_what_the_machine_makes_of_nothing_is_no_finding() -> None:
    question = Question("any", id, int, int)
    one, other = (array("q", map(round, each)) for each in samples(10))
    answer = answered(question, (one, other))
    assert (answer.right(noise=1.0), answer.right(noise=answer.most)) == (False, True)


def test_both_kinds_are_measured_as_often() -> None:
    made: list[str] = []
    question = Question("any", made.append, lambda _: "one", lambda _: "other")
    times = measured(question, 50, random.Random(1))
    assert [len(each) for each in times] == [50, 50]
    assert made.count("one") == made.count("other")
    orders = {tuple(made[at : at + 2]) for at in range(len(made) - 100, len(made), 2)}
    assert orders == {("one", "other"), ("other", "one")}


def test_both_kinds_of_request_come_to_the_same_end() -> None:
    """Else it would be no wonder that their times differ."""
    for question in questions():
        one, other = question.act(question.one(0)), question.act(question.other(0))
        if isinstance(one, Refused):
            assert (one, one.reason) == (other, "bad_signature")
        elif question.shows is False:
            assert one is other is None


def test_addresses_are_unlike_one_another() -> None:
    both = {*addresses("a"), *addresses("b")}
    assert len(both) == 2 * len(addresses("a"))
    assert {len(address) for address in both} == {36}
