"""plugins/ledger.py: one line an event, once."""

import sqlite3
from contextlib import closing
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from router.plugin import Event, Fail, PlainContext


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _record(job: str, **args: Any) -> bool:
    values = {"file": "sales.db", "kind": "order", **args}
    answer = import_module("ledger").record(Event(idempotency_key=job), PlainContext(), **values)
    return bool(answer["added"])


def _lines() -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect("sales.db")) as database:
        return database.execute("SELECT job, kind, key, amount FROM entries").fetchall()


def test_a_line_with_its_amount_digit_for_digit() -> None:
    assert _record("job_1", key=12, amount=Decimal("10.50"))
    assert _lines() == [("job_1", "order", "12", "10.50")]


def test_a_second_attempt_adds_nothing() -> None:
    assert _record("job_1")
    assert not _record("job_1")
    assert _record("job_2")
    assert len(_lines()) == 2


@pytest.mark.parametrize("file", ["/srv/sales.db", "../sales.db"])
def test_the_file_stays_below_the_rules(file: str) -> None:
    with pytest.raises(Fail, match="below the folder"):
        _record("job_1", file=file)
