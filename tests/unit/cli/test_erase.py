"""`router erase`."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from router.cli.last_request import SentRequest, last_of, remember
from tests.unit.cli.conftest import Changes, Ran, Router
from tests.unit.cli.test_stored import DLV, OTHER, fill

WHERE = ("--where", "delivery.id == var.id", "--var", f"id={DLV}")


@pytest.fixture
def ask(router: Router, rules: Path, changes: Changes) -> Router:
    """One delivery whose job is dead, one that is open and unreadable."""
    asyncio.run(fill(rules.parent / "router.db", time.time_ns() // 1_000_000))

    def asked(command: str, *args: str) -> Ran:
        return router(command, "-f", rules, *args)

    return changes(asked, rules)


def test_a_plan_first_and_nobody_is_asked_in_silence(ask: Router) -> None:
    ran = ask("erase", *WHERE)
    assert ran.code == 2
    assert "pass --yes or --dry-run" in ran.err
    plan = ask("erase", *WHERE, "--dry-run")
    assert plan.out.startswith("1 event of 1 delivery would be erased, with 1 job\n")
    assert plan.out.splitlines()[2].split() == ["shop", "routed", "1"]
    assert json.loads(ask("erase", *WHERE, "--dry-run", "--json").out)["deliveries"] == 1
    assert ask("show", DLV).code == 0
    assert ask("erase", "--status").out == "no erasure is under way\n"


@pytest.mark.long
def test_it_is_gone_and_the_audit_does_not_say_whose(ask: Router, rules: Path) -> None:
    ran = ask("erase", *WHERE, "--yes")
    assert ran.out.startswith("1 event of 1 delivery erased, with 1 job (ers_")
    assert "Backups" in ran.err
    assert ask("show", DLV).code == 1
    assert ask("show", OTHER).code == 0
    [line] = json.loads(ask("audit", "--json").out)
    assert (line["verb"], line["count"]) == ("erase", 1)
    assert DLV not in json.dumps(line)
    assert b"31mred" not in (rules.parent / "router.db").read_bytes()
    [row] = ask("erase", "--status").out.splitlines()[1:]
    assert row.split()[2:] == ["done", "1", "0", "0"]


@pytest.mark.long
def test_the_file_is_written_anew_if_that_is_asked_for(ask: Router, rules: Path) -> None:
    plan = ask("erase", *WHERE, "--vacuum", "--dry-run")
    assert "would be written anew: deliveries wait meanwhile" in plan.err
    assert json.loads(ask("erase", *WHERE, "--vacuum", "--dry-run", "--json").out)["vacuum"]
    ran = ask("erase", *WHERE, "--yes", "--vacuum")
    assert ran.code == 0
    assert "the store's file was written anew" in ran.err
    assert "--vacuum" not in ran.err
    again = json.loads(ask("erase", *WHERE, "--yes", "--vacuum", "--json").out)
    assert (again["deliveries"], again["vacuum"]) == (0, "done")


@pytest.mark.long
def test_what_is_open_waits_for_a_server_or_is_cancelled(ask: Router) -> None:
    named = ask("erase", OTHER[:14], "--yes")
    assert named.out.startswith("0 events of 0 deliveries erased")
    assert "1 delivery will go as soon as all jobs have ended" in named.err
    assert ask("erase", OTHER, "--yes", "--cancel", "--json").code == 0
    assert ask("show", OTHER).code == 1


@pytest.mark.long
def test_what_was_sent_last_goes_if_it_names_the_person(ask: Router, rules: Path) -> None:
    for endpoint, body in (("shop", b'{"id": "%s"}' % DLV.encode()), ("code", b"{}")):
        remember(rules.parent, endpoint, SentRequest("POST", "/", (), body))
    ask("erase", *WHERE, "--yes")
    assert last_of(rules.parent, "shop") is None
    assert last_of(rules.parent, "code") is not None


def test_nothing_selected_is_nothing_erased(ask: Router) -> None:
    ran = ask("erase")
    assert (ran.code, ran.out) == (2, "")
    assert "name what to erase" in ran.err
    assert ask("erase", "--rule", "pade", "--yes").code == 2
