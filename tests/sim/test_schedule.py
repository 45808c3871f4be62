"""
A failing job is tried again by its schedule: each attempt begins within its jitter band, and jobs
that failed together do not come back together.

`python -m tests.sim.schedule` is the same with many more of them.
"""

import pytest

from tests.sim.schedule import CASES, Begin, Shut, spent, wave, wrong, wrong_when_shut

SELDOM_S = 600.0
"""Between sweeps, which mend what was missed: so seldom that no attempt can lean on one."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "jobs"), [("burst", 500), ("hour", 400), ("client", 300), ("many", 200)]
)
def test_i27_every_attempt_begins_in_its_band_and_none_come_together(name: str, jobs: int) -> None:
    waves = spent(name, jobs, sweep_s=SELDOM_S)
    assert wrong(CASES[name], jobs, waves) == []
    assert max(one.after_due_s for one in waves) < 0.1


def test_i27_a_breaker_that_opens_makes_attempts_later_and_fewer_never_sooner() -> None:
    reported = spent("shut", 500, sweep_s=SELDOM_S)
    assert wrong_when_shut(reported) == []
    assert reported.calls < 80
    assert sum(reported.back) > 400


@pytest.mark.parametrize(
    ("began", "words"),
    [
        (30.0, "attempts 3 come together: 12.00 times the mean"),
        (23.9, "attempt 3 began 0.100 s before its band"),
        (37.5, "attempt 3 began 1.500 s after its band"),
    ],
)
def test_what_is_wrong_is_reported(began: float, words: str) -> None:
    waves = [wave(CASES["burst"], 3, [Begin(0.0, began, began)] * 1_000)]
    assert words in wrong(CASES["burst"], 1_000, waves)


def test_what_is_wrong_behind_a_breaker_is_reported() -> None:
    reported = Shut(
        at_once=16,
        calls=100,
        least_gap_s=5.0,
        longest_gap_s=600.0,
        most_attempts=3,
        early_s=0.5,
        back=(25, 50, 200),
        undone=1,
    )
    assert len(wrong_when_shut(reported)) == 4
