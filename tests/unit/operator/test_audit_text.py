"""What a line of the audit says was asked."""

from typing import Any

import pytest

from router.model.operations import Audit
from router.operator.audit_text import asked_json, asked_words

AT = 1_772_368_200_250
TIME = "2026-03-01T12:30:00.250Z"


def a_line(verb: str, asked: dict[str, Any]) -> Audit:
    return Audit("rpl_1", AT, "local", verb, asked)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"selector": {"until": AT, "limit": 5}}, f"--until {TIME} --limit 5"),
        ({"selector": {"where": "payload.a == 'x y'"}}, "--where 'payload.a == '\"'\"'x y'\"'\"''"),
        ({"ids": ["a", "b", "c", "d", "e"]}, "a b c and 2 more"),
        ({"older_than": 172_800_000}, "--older-than 2d"),
        ({"older_than": 90_000}, "--older-than 90s"),
        ({"older_than": 0}, "--older-than 0d"),
        ({"path": "x.db", "bytes": 5}, "path x.db bytes 5"),
        ({}, "-"),
    ],
)
def test_options_can_be_pasted_back(asked: dict[str, Any], words: str) -> None:
    assert asked_words(a_line("cancel", asked)) == words


def test_a_replay_is_named() -> None:
    asked = {"recorded": True, "rate": 10.0, "selector": {"rule": "paid"}}
    assert asked_words(a_line("replay", asked)) == "--recorded --rule paid as rpl_1"


def test_its_times_in_json_are_times() -> None:
    reported = asked_json(a_line("revive", {"selector": {"since": AT, "rule": "paid"}}))
    assert (reported["at"], reported["asked"]) == (
        TIME,
        {"selector": {"since": TIME, "rule": "paid"}},
    )
