"""What needs a person, and what does not."""

import pytest
from msgspec.structs import replace

from router.model.settings import DAY_MS, Retention
from router.model.target import TargetRow
from router.operator import attention
from router.operator.overview import store_fill
from router.operator.overview_answer import DeadLetters, Sums
from tests.builders import NOW
from tests.overviews import an_overview

GIB = 1 << 30
KEEP = Retention(max_size=100 * GIB)
FOUND = an_overview()
ENDPOINT = FOUND.endpoints[0]
TARGET = TargetRow("chat", named=True, kind="http")


@pytest.mark.parametrize(
    ("held", "a_day_ago", "says"),
    [
        (79, 79, None),
        (80, 80, "the store has 80 % of max_size"),
        (10, 70, None),
        (65, 60, None),
        (65, 50, "the store has 65 % of max_size and is full in 2 d 0 h"),
        (95, 95, "the store is full (95 % of max_size): deliveries are refused"),
    ],
)
def test_a_store_that_is_nearly_full_or_soon_will_be(
    held: int, a_day_ago: int, says: str | None
) -> None:
    fill = store_fill(held * GIB, KEEP, [(NOW - DAY_MS, a_day_ago * GIB)], NOW)
    assert [one.text for one in attention.of_store(fill, NOW)] == ([says] if says else [])


def test_how_a_store_grows_is_known_after_an_hour() -> None:
    assert store_fill(GIB, KEEP, [], NOW).grows_by is None
    assert store_fill(GIB, KEEP, [(NOW - 3_599_999, 0)], NOW).grows_by is None
    fill = store_fill(GIB, KEEP, [(NOW - 3_600_000, 0), (NOW, GIB)], NOW)
    assert (fill.grows_by, fill.full_at) == (24 * GIB, NOW + 94 * DAY_MS // 24)
    shrinks = store_fill(GIB, KEEP, [(NOW - 3_600_000, 2 * GIB)], NOW)
    assert (shrinks.grows_by, shrinks.full_at) == (-24 * GIB, None)


@pytest.mark.parametrize(
    ("state", "waiting", "late_ms", "kinds"),
    [
        ("healthy", 9, 60_000, []),
        ("healthy", 9, 60_001, ["late"]),
        ("paused", 0, 60_001, ["target"]),
        ("failing", 2, 0, ["target"]),
        ("recovering", 0, 0, ["target"]),
    ],
)
def test_targets_that_are_not_called_as_they_should_be(
    state: str, waiting: int, late_ms: int, kinds: list[str]
) -> None:
    target = replace(TARGET, state=state, waiting=waiting, due_at=NOW - late_ms)
    found = list(attention.of_targets([target], NOW))
    assert [one.kind for one in found] == kinds
    assert all(one.name == "chat" for one in found)
    assert [("wait" in one.text) for one in found] == [waiting > 0 and state != "healthy"] * len(
        kinds
    )


@pytest.mark.parametrize(
    ("refused", "accepted", "provider", "kinds"),
    [
        (20, 19, "shopify", ["refused"]),
        (20, 20, "shopify", []),
        (19, 0, "shopify", []),
        (99, 0, None, []),
    ],
)
def test_endpoints_that_refuse_more_than_they_accept(
    refused: int, accepted: int, provider: str | None, kinds: list[str]
) -> None:
    """Of the file: nobody can mend one that is gone."""
    one = replace(
        ENDPOINT, refused=Sums(refused, 0), deliveries=Sums(accepted, 0), provider=provider
    )
    assert [found.kind for found in attention.of_endpoints([one])] == kinds


def test_silent_endpoints_dead_letters_and_a_failed_reload() -> None:
    silent = attention.of_endpoints([replace(ENDPOINT, silent=True)])
    assert [one.text for one in silent] == ["nothing comes to the endpoint shop any more"]
    assert [one.text for one in attention.of_dead(FOUND.dead)] == ["2 dead letters"]
    assert not list(attention.of_dead(DeadLetters(0, None, None)))
    wrong = replace(FOUND.rules, error="rules.yaml:1:1: error", failed_at=NOW)
    assert [one.command for one in attention.of_rules(wrong)] == ["router check"]
    assert not list(attention.of_rules(FOUND.rules))
