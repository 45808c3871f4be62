"""How a target did: half minutes, failures in a row, the usual rate."""

import pytest

from router.dispatch.health import BUCKET_MS, BUCKETS, Health

T = 1_750_000_000_000 // BUCKET_MS * BUCKET_MS


def test_five_minutes_are_ten_half_minutes() -> None:
    assert (BUCKET_MS, BUCKETS) == (30_000, 10)


def test_what_was_five_minutes_ago_goes_half_minute_by_half_minute() -> None:
    health = Health(T)
    for step in range(BUCKETS):
        health.answered(T + step * BUCKET_MS)
        health.failed(T + step * BUCKET_MS, "no", connecting=False)
    assert health.window(T + BUCKETS * BUCKET_MS - 1) == (10, 10)
    assert health.window(T + BUCKETS * BUCKET_MS) == (9, 9)
    assert health.window(T + (BUCKETS + 3) * BUCKET_MS) == (6, 6)
    assert health.window(T + (2 * BUCKETS - 2) * BUCKET_MS) == (1, 1)
    assert health.window(T + 1_000 * BUCKET_MS) == (0, 0)


def test_a_clock_set_back_stays_in_its_half_minute() -> None:
    health = Health(T)
    health.answered(T - 3_600_000)
    assert health.window(T) == (1, 0)


def test_failures_to_connect_are_counted_in_a_row() -> None:
    health = Health(T)
    for connecting, row in ((True, 1), (True, 2), (False, 0), (True, 1)):
        health.failed(T, "no", connecting=connecting)
        assert health.refused == row
    health.answered(T)
    assert health.refused == 0


def test_since_when_it_fails_and_what_it_said_last() -> None:
    health = Health(T)
    health.failed(T + 5, "first", connecting=False)
    health.failed(T + 9, "second", connecting=False)
    assert (health.failing_since, health.last_error, health.last_error_at) == (
        T + 5,
        "second",
        T + 9,
    )
    health.answered(T + 10)
    assert (health.failing_since, health.last_error) == (None, "second")


def test_the_usual_rate_is_of_whole_half_minutes_and_follows_slowly() -> None:
    health = Health(T)
    for _ in range(60):
        health.answered(T)
    health.window(T + BUCKET_MS)
    assert health.usual is None, "the first began before we looked"
    for _ in range(30):
        health.answered(T + BUCKET_MS)
        health.failed(T + BUCKET_MS, "no", connecting=False)
    health.window(T + 2 * BUCKET_MS)
    assert health.usual == 2.0, "answered and failed alike are attempts"
    health.window(T + 3 * BUCKET_MS)
    assert health.usual == pytest.approx(2 * 0.95)
    health.window(T + 6 * BUCKET_MS)
    assert health.usual == pytest.approx(2 * 0.95**4)


def test_a_half_minute_in_which_most_failed_is_not_usual() -> None:
    health = Health(T)
    health.window(T + BUCKET_MS)
    for _ in range(31):
        health.failed(T + BUCKET_MS, "no", connecting=False)
    health.window(T + 2 * BUCKET_MS)
    assert health.usual is None
    for _ in range(30):
        health.answered(T + 2 * BUCKET_MS)
    for step, failed in ((3, 90), (4, 31)):
        for _ in range(failed):
            health.failed(T + step * BUCKET_MS, "no", connecting=False)
    for _ in range(30):
        health.answered(T + 4 * BUCKET_MS)
    health.window(T + 5 * BUCKET_MS)
    assert health.usual == 1.0, "jobs that are tried again are not what it is used to"
    health.failed(T + 5 * BUCKET_MS, "no", connecting=False)
    health.window(T + 8 * BUCKET_MS)
    assert health.usual == pytest.approx(0.95**2), "but where nothing is called, it falls"


def test_it_learns_nothing_while_it_must_not() -> None:
    health = Health(T)
    health.window(T + BUCKET_MS)
    health.learns = False
    health.answered(T + BUCKET_MS)
    health.window(T + 2 * BUCKET_MS)
    assert health.usual is None


def test_judged_anew() -> None:
    health = Health(T)
    for step in (0, 1):
        health.answered(T + step * BUCKET_MS)
        health.failed(T + step * BUCKET_MS, "no", connecting=True)
    health.clear()
    assert (health.window(T + BUCKET_MS), health.refused) == ((0, 0), 0)
    health.answered(T + BUCKET_MS)
    before = health.usual
    health.window(T + 2 * BUCKET_MS)
    assert health.usual == before, "a half minute that was not seen whole teaches nothing"
