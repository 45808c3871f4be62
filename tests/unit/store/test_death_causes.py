"""Reasons without what differs."""

import pytest

from router.store.common.death_causes import by_cause, key_of, normalised


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("503", "503"),
        ("exit 1", "exit 1"),
        ("no answer within 30 s", "no answer within 30 s"),
        ("no answer within 2.5 s", "no answer within … s"),
        ("order 123456 is unknown", "order … is unknown"),
        ("dlv_01JXT21Q0020KW71NVRK6P2FHG is gone", "… is gone"),
        ("request 3f2a9c1d0b77 failed", "request … failed"),
        ("550e8400-e29b-41d4-a716-446655440000", "…"),
        ("connect to 10.0.0.7:8443 refused", "connect to … refused"),
        ("killed by SIGSEGV at 0x7f00", "killed by SIGSEGV at …"),
        ("certificate verify failed: self-signed certificate", None),
        ("", ""),
    ],
)
def test_what_differs_is_left_out(reason: str, words: str | None) -> None:
    assert normalised(reason) == (reason if words is None else words)


def test_a_cause_is_of_one_action_and_target() -> None:
    keys = {
        key_of("r", "a", "t", "exit 1"),
        key_of("r", "b", "t", "exit 1"),
        key_of("q", "a", "t", "exit 1"),
        key_of("r", "a", "u", "exit 1"),
        key_of("r", "a", "t", None),
    }
    assert len(keys) == 5
    assert key_of("r", "a", "t", "id 10000") == key_of("r", "a", "t", "id 99999")


@pytest.mark.parametrize("order", [1, -1])
def test_in_whatever_order_they_come_the_newest_are_the_examples(order: int) -> None:
    jobs = [("paid", "erp", "erp", f"exit {n % 2}", f"job_{n}", n) for n in range(1, 10)]
    odd, even = by_cause(jobs[::order])
    assert (odd.count, odd.first_at, odd.last_at) == (5, 1, 9)
    assert odd.examples == ("job_9", "job_7", "job_5")
    assert (even.count, even.examples) == (4, ("job_8", "job_6", "job_4"))
