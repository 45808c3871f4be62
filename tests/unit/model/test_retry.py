"""The delays of the built-in policies, and the bounds of a Retry-After, to the millisecond."""

import random

import pytest

from router.model.job import FailureClass
from router.model.retry import AGE_LIMIT_MS, BUILT_IN, RetryPolicy, next_delay_ms
from tests.chance import Always

RNG = random.Random(1)
STILL = RetryPolicy("still", tuple(range(1, 9)), 0.0)
"""Eight delays of 1 to 8 ms, not spread."""


def test_the_built_in_delays() -> None:
    seconds = {name: [d / 1000 for d in policy.schedule_ms] for name, policy in BUILT_IN.items()}
    hour = 3_600
    assert seconds == {
        "standard": [
            *(5, 30, 120, 600, 1_800),
            *(2 * hour, 6 * hour, 16 * hour, 24 * hour, 24 * hour),
        ],
        "short": [10, 60],
        "none": [],
    }
    assert 7 * 24 * hour * 1_000 == AGE_LIMIT_MS
    assert {policy.jitter for policy in BUILT_IN.values()} == {0.2}


@pytest.mark.parametrize(
    ("failure", "charged", "delay"),
    [
        ("server", 1, 1),
        ("server", 8, 8),
        ("server", 9, None),
        ("client", 5, 5),
        ("client", 6, None),
        ("temporary", 8, 8),
        ("temporary", 9, 10_000),
        ("temporary", 10, 60_000),
        ("temporary", 11, None),
    ],
)
def test_which_delay_follows_which_attempt(
    failure: FailureClass, charged: int, delay: int | None
) -> None:
    assert next_delay_ms(STILL, charged, failure, None, RNG) == delay


@pytest.mark.parametrize(
    ("after_s", "delay"),
    [(0.0, 1_000), (0.999, 1_000), (1.5, 1_500), (86_400.0, 86_400_000), (86_401.0, 86_400_000)],
)
@pytest.mark.parametrize("failure", ["throttled", "temporary"])
def test_a_retry_after_is_of_one_second_to_a_day(
    failure: FailureClass, after_s: float, delay: int
) -> None:
    assert next_delay_ms(STILL, 1, failure, after_s, RNG) == delay


def test_only_a_raised_retry_after_comes_before_the_schedule() -> None:
    slow = RetryPolicy("slow", (60_000,), 0.0)
    assert next_delay_ms(slow, 1, "throttled", 2.0, RNG) == 60_000
    assert next_delay_ms(slow, 1, "temporary", 2.0, RNG) == 2_000


def test_a_delay_of_nothing_is_a_millisecond() -> None:
    assert next_delay_ms(RetryPolicy("at once", (0,)), 1, "server", None, RNG) == 1


@pytest.mark.parametrize(("drawn", "delay"), [(0.0, 8_000), (0.5, 10_000), (1.0, 12_000)])
def test_a_delay_is_spread_by_its_jitter_and_no_more(drawn: float, delay: int) -> None:
    policy = RetryPolicy("spread", (10_000,), 0.2)
    assert next_delay_ms(policy, 1, "server", None, Always(drawn)) == delay
    assert next_delay_ms(policy, 1, "throttled", 9.0, Always(drawn)) == max(delay, 9_000)
