"""The text of each own event is that of its sample, and never too long to be sent."""

import pytest

from router.providers import own
from router.rules.own_events import SAID_MAX, TEXTS, text_of

NAMES = [event.name for event in own().events]


def test_every_event_has_a_text() -> None:
    assert sorted(TEXTS) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_sample_shows_it(name: str) -> None:
    sample = own().sample(name)
    assert isinstance(sample, dict)
    assert text_of(name, sample) == sample["text"]


def test_an_endpoint_that_was_never_heard_is_silent_since_it_is_watched() -> None:
    payload = {"endpoint": "shop", "last": None, "since": "2026-11-01T00:00:00Z"}
    assert "nothing since 2026-11-01T00:00:00Z" in text_of("endpoint.silent", payload)


def test_a_long_one_keeps_its_end() -> None:
    text = text_of("reload.failed", {"diagnostics": "x" * 4_000})
    assert len(text) == SAID_MAX
    assert text.endswith("x (router check)")


def test_it_is_one_line() -> None:
    text = text_of("reload.failed", {"diagnostics": "rules.yaml:9:1: no\n  9 | x\n"})
    assert text.endswith(": rules.yaml:9:1: no (router check)")
    died = {"new": 2, "rule": "paid", "action": "erp", "reason": "exit 1\nTraceback"}
    assert "\n" not in text_of("jobs.dead", {"new": 2, "dead": 2, "by_rule": [died]})
