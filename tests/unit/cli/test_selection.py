"""The one selector."""

import time
from pathlib import Path

import pytest

from router.cli.selection import is_narrowed
from router.errors import UsageError
from router.store.time_text import instant
from router.store.values import Selector
from tests.unit.cli.conftest import Router

NOW = 1_790_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2h", NOW - 7_200_000),
        ("90s", NOW - 90_000),
        ("250ms", NOW - 250),
        ("7d", NOW - 7 * 86_400_000),
        ("2026-09-21T14:13:20Z", NOW),
        ("2026-09-21T16:13:20+02:00", NOW),
        ("2026-09-21T14:13:20", NOW),
        ("2026-09-21", NOW - (14 * 3600 + 13 * 60 + 20) * 1000),
    ],
)
def test_a_time_is_long_ago_or_a_moment(text: str, expected: int) -> None:
    assert instant(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "2 h", "-2h", "2w", "26-1-1"])
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="write 2h"):
        instant(text, NOW)


def test_a_time_without_offset_is_utc_wherever_the_machine_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert instant("2026-09-21T14:13:20", NOW) == NOW
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_only_the_limit_narrows_nothing() -> None:
    assert not is_narrowed(Selector(limit=5))
    assert is_narrowed(Selector(rule="a"))
    assert is_narrowed(Selector(since=0))


def test_a_state_is_one_of_the_known(router: Router, rules: Path) -> None:
    ran = router("deliveries", "-f", rules, "--state", "dizzy")
    assert ran.code == 2
    assert "'too_complex'" in ran.err


def test_times_in_the_wrong_order_are_refused(router: Router, rules: Path) -> None:
    ran = router("dead", "-f", rules, "--since", "1h", "--until", "2h")
    assert ran.code == 2
    assert "swap them" in ran.err


@pytest.mark.parametrize("verb", ["replay", "cancel", "revive"])
def test_a_verb_wants_to_know_what(verb: str, router: Router, rules: Path) -> None:
    ran = router(verb, "-f", rules)
    assert ran.code == 2
    assert f"name what to {verb}" in ran.err


def test_a_replay_is_of_ids_or_of_a_selection(router: Router, rules: Path) -> None:
    assert "not both" in router("replay", "-f", rules, "dlv_x", "--rule", "a").err
