"""`router store …` without a server: under the lock, or only reading."""

import asyncio
import json
import os
import pwd
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from router.clock import SystemClock
from router.store.sqlite import location, schema
from router.store.sqlite.store import open_store
from tests.store_values import Maker
from tests.unit.cli.conftest import Router


async def fill(path: Path) -> None:
    """Two deliveries of long ago, of which one has a job that has not run."""
    store = await open_store(str(path), clock=SystemClock())
    make = Maker()
    await store.accept(make.acceptance(jobs=[]))
    await store.accept(make.acceptance())
    await store.close()


@pytest.fixture
def db(rules: Path) -> Path:
    path = rules.parent / "router.db"
    asyncio.run(fill(path))
    return path


def test_a_backup_is_made_reported_and_never_overwritten(
    router: Router, rules: Path, db: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    ran = router("store", "backup", copy, "-f", rules)
    assert (ran.code, ran.err) == (0, "")
    assert f"schema {schema.VERSION}" in ran.out
    assert ran.out.rstrip().endswith("checked")
    again = router("store", "backup", copy, "-f", rules)
    assert again.code == 2
    assert "--force" in again.err
    reported = json.loads(router("store", "backup", copy, "-f", rules, "--force", "--json").out)
    assert reported["path"] == str(copy)


def test_a_backup_and_a_restore_are_lines_of_the_audit(
    router: Router, rules: Path, db: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    assert router("store", "backup", copy, "-f", rules).code == 0
    (line,) = json.loads(router("audit", "-f", rules, "--json").out)
    assert (line["who"], line["verb"], line["way"]) == ("local", "backup", "command")
    user = pwd.getpwuid(os.getuid()).pw_name
    assert line["peer"] == f"{user}@{socket.gethostname()}"
    assert line["asked"] == {"path": str(copy), "bytes": copy.stat().st_size}
    assert router("store", "restore", copy, "-f", rules, "--yes").code == 0
    (line,) = json.loads(router("audit", "-f", rules, "--json").out)
    assert (line["verb"], line["asked"]) == ("restore", {"path": str(copy)})
    assert str(copy) in router("audit", "-f", rules).out


def test_a_backup_that_cannot_be_noted_is_one_all_the_same(
    router: Router, rules: Path, db: Path, tmp_path: Path
) -> None:
    held = location.Lock(db)
    try:
        ran = router("store", "backup", tmp_path / "copy.db", "-f", rules)
    finally:
        held.close()
    assert ran.code == 0
    assert "no line in the audit: " in ran.err


def test_a_backup_needs_no_right_rules_file(
    router: Router, rules: Path, db: Path, tmp_path: Path
) -> None:
    """Somebody may want one just because the file is wrong."""
    rules.write_text("nonsense", "utf-8")
    assert router("store", "backup", tmp_path / "copy.db", "-f", rules).code == 1
    ran = router("store", "backup", tmp_path / "copy.db", "-f", rules, "--store", db)
    assert ran.code == 0


def test_a_restore_says_what_is_not_in_it(
    router: Router, rules: Path, db: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    router("store", "backup", copy, "-f", rules)
    asked = router("store", "restore", copy, "-f", rules)
    assert (asked.code, "pass --yes" in asked.err) == (2, True)
    planned = router("store", "restore", copy, "-f", rules, "--dry-run")
    assert (planned.code, f"would take the place of {db}" in planned.out) == (0, True)
    assert not list(db.parent.glob("router.db.before-*"))
    ran = router("store", "restore", copy, "-f", rules, "--yes")
    assert ran.code == 0
    assert "2 deliveries, checked" in ran.out
    assert "is kept: " in ran.err
    assert "ask senders for what came later" in ran.err
    assert "1 job open then: they run at the next `router serve`" in ran.err
    assert len(list(db.parent.glob("router.db.before-*"))) == 1


def test_no_restore_while_somebody_holds_the_store(
    router: Router, rules: Path, db: Path, tmp_path: Path
) -> None:
    router("store", "backup", tmp_path / "copy.db", "-f", rules)
    lock = location.Lock(db)
    ran = router("store", "restore", tmp_path / "copy.db", "-f", rules, "--yes")
    lock.close()
    assert ran.code == 1
    assert "in use by another router" in ran.err


def test_a_server_is_not_asked_what_it_would_prune(router: Router, rules: Path) -> None:
    """Its API cannot count that; the store here is another one."""
    ran = router("store", "prune", "-f", rules, "--dry-run", "--server", "http://127.0.0.1:1")
    assert (ran.code, ran.out) == (2, "")
    assert "leave --server out, or run it beside that server" in ran.err


def test_retention_now(router: Router, rules: Path, db: Path) -> None:
    """What the dry look counts is what goes; open jobs stay; a second time nothing is left."""
    look = router("store", "prune", "-f", rules, "--dry-run")
    assert (look.code, look.out) == (0, "1 delivery and 0 expired keys would be removed\n")
    done = router("store", "prune", "-f", rules, "--older-than", "1d")
    assert (done.code, done.out) == (0, "1 delivery and 0 expired keys removed\n")
    again = json.loads(router("store", "prune", "-f", rules, "--json").out)
    assert again == {"deliveries": 0, "keys": 0, "dry_run": False}
    assert json.loads(router("store", "info", "-f", rules, "--json").out)["deliveries"] == 1


def test_an_age_that_is_none(router: Router, rules: Path, db: Path) -> None:
    ran = router("store", "prune", "-f", rules, "--older-than", "soon")
    assert ran.code == 2
    assert "--older-than: 'soon' is not a duration" in ran.err


def test_the_schema_is_said_and_an_older_one_refused(router: Router, rules: Path, db: Path) -> None:
    look = router("store", "migrate", "-f", rules)
    assert (look.code, look.out) == (
        0,
        f"{db} has schema {schema.VERSION}, as this router needs\n",
    )
    with closing(sqlite3.connect(db)) as old:
        old.execute("PRAGMA user_version = 9")
    for words in (["migrate"], ["info"], ["backup", rules.parent / "copy.db"], ["prune"]):
        ran = router("store", *words, "-f", rules)
        assert ran.code == 1
        assert "schema 9" in ran.err
        assert "earlier development version" in ran.err


def test_a_store_at_a_glance(router: Router, rules: Path, db: Path) -> None:
    ran = router("store", "info", "-f", rules)
    assert ran.code == 0
    assert f"store        {db}\n" in ran.out
    assert "jobs         1 available\n" in ran.out


@pytest.mark.parametrize("words", [["info"], ["migrate"], ["backup", "x.db"], ["prune"]])
def test_without_a_store(router: Router, rules: Path, words: list[str]) -> None:
    ran = router("store", *words, "-f", rules)
    assert ran.code == 1
    assert "there is no store" in ran.err
