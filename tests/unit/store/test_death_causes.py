"""Reasons without what differs."""

import pytest

from router.store.common.death_causes import key_of, normalised


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
