"""`export`: what is handed over to a person, and how it is written."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Ran, Router
from tests.unit.cli.test_stored import DLV, JOB, OTHER, Ledger, ask, ledger

__all__ = ["ask", "ledger"]

ONE = ("--where", "delivery.id == var.id", "--var", f"id={DLV}")


def exported(ran: Ran) -> list[dict[str, Any]]:
    assert ran.code == 0, ran
    found: list[dict[str, Any]] = json.loads(ran.out)["deliveries"]
    return found


def test_a_delivery_with_all_that_came_of_it(ask: Router) -> None:
    ran = ask("export", *ONE)
    [found] = exported(ran)
    assert (found["id"], found["whole"], found["copies"]) == (DLV, True, 0)
    assert found["path"] is None, "the id of the endpoint is a secret"
    assert found["body"] == '{"id": 1, "note": "\x1b[31mred"}', "no JSON, so no event has it"
    [job] = found["jobs"]
    assert (job["id"], job["rule"], job["reason"]) == (JOB, "paid", "exit 1")
    [attempt] = job["attempts"]
    assert attempt["result"]["stdout"] == "two\nlines \x1b[0m"
    assert "1 delivery exported" in ran.err


def test_what_no_event_says_is_in_the_body(ask: Router) -> None:
    [found] = exported(ask("export", "--where", "delivery.id == var.id", "--var", f"id={OTHER}"))
    assert found["events"] == []
    assert found["body_base64"] == "/yBub3QganNvbg=="


def test_a_line_each_or_one_document(ask: Router) -> None:
    lines = ask("export", "--lines", "--endpoint", "shop").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [DLV, OTHER], "the oldest first"
    assert [one["id"] for one in exported(ask("export", "--endpoint", "shop"))] == [DLV, OTHER]


@pytest.mark.parametrize(("more", "empty"), [((), []), (("--lines",), None)])
def test_nothing_is_an_answer_too(ask: Router, more: tuple[str, ...], empty: Any) -> None:
    ran = ask("export", "--where", "`false`", *more)
    assert (json.loads(ran.out)["deliveries"] if ran.out else None) == empty
    assert "0 deliveries exported" in ran.err


def test_a_file_is_for_its_owner_alone(ask: Router, tmp_path: Path) -> None:
    file = tmp_path / "ann.json"
    file.write_text("older")
    file.chmod(0o644)
    assert ask("export", *ONE, "-o", str(file)).out == ""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(json.loads(file.read_text("utf-8"))["deliveries"]) == 1


def test_a_file_that_fails_is_left_as_it_was(ask: Router, tmp_path: Path) -> None:
    file = tmp_path / "ann.json"
    file.write_text("older")
    assert ask("export", "--where", "payload.", "-o", str(file)).code == 2
    assert (file.read_text(), [*tmp_path.glob(".ann*")]) == ("older", [])
    ran = ask("export", *ONE, "-o", str(tmp_path / "none" / "ann.json"))
    assert (ran.code, "cannot write" in ran.err) == (2, True)


def test_what_could_not_be_evaluated_is_said(ask: Router) -> None:
    ran = ask("export", "--where", "payload.missing != 'x'")
    assert "could not be evaluated on" in ran.err


def test_whose_data_must_be_said(ask: Router, ledger: Ledger) -> None:
    ran = ask("export")
    assert (ran.code, ran.out) == (2, "")
    assert "say whose data" in ran.err
