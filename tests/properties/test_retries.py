"""Any schedule, any Retry-After of a target: when the next attempt is due."""

import random

from hypothesis import given
from hypothesis import strategies as st

from router.model.job import FailureClass
from router.model.retry import CLIENT_ERROR_DELAYS, SHORT, RetryPolicy, next_delay_ms

DAY_MS = 86_400_000
SCHEDULES = st.lists(st.integers(100, DAY_MS), max_size=12).map(tuple)
FAILURES = st.sampled_from(("network", "timeout", "throttled", "server", "client", "temporary"))
RETRY_AFTERS = st.one_of(st.none(), st.floats(0, 1e12), st.sampled_from((0.0, 0.5, 1.0, 86_400.0)))


@given(SCHEDULES, FAILURES, RETRY_AFTERS, st.floats(0, 1), st.integers(1, 16), st.integers())
def test_i27_a_retry_after_counts_within_its_bounds_and_never_sooner_than_the_schedule(
    schedule: tuple[int, ...],
    failure: FailureClass,
    after_s: float | None,
    jitter: float,
    charged: int,
    seed: int,
) -> None:
    policy = RetryPolicy("any", schedule, jitter)
    delay = next_delay_ms(policy, charged, failure, after_s, random.Random(seed))
    delays = schedule[:CLIENT_ERROR_DELAYS] if failure == "client" else schedule
    if failure == "temporary":
        delays += SHORT.schedule_ms
    if charged > len(delays):
        assert delay is None
        return
    assert delay is not None
    base = delays[charged - 1]
    if after_s is None:
        assert base * (1 - jitter) - 1 <= delay <= base * (1 + jitter) + 1
        return
    assert delay >= 1_000
    assert delay <= max(DAY_MS, base * (1 + jitter) + 1)
    if failure != "temporary":
        assert delay >= base * (1 - jitter) - 1


@given(st.integers(1_000, DAY_MS), st.integers())
def test_i27_a_hundred_jobs_that_fail_together_do_not_come_back_together(
    base: int, seed: int
) -> None:
    rng = random.Random(seed)
    policy = RetryPolicy("any", (base,))
    delays = [next_delay_ms(policy, 1, "network", None, rng) for _ in range(100)]
    assert len(set(delays)) > 50
