"""`--store FILE` in an empty folder: what reads needs no rules file, the store keeps the rules."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from router.clock import SystemClock
from router.store.sqlite.store import open_store
from router.store.values import Acceptance
from router.wiring.live import generation_of
from router.wiring.rules import read_rules
from tests.builders import a_delivery, an_event
from tests.unit.cli.conftest import SMALL, Ran, Router
from tests.unit.cli.test_server_option import Path_, commands
from tests.unit.cli.test_stored import DLV, JOB, a_job

THEN = SMALL.replace("id: paid,", "id: paid-then,")
READS: dict[Path_, list[str]] = {
    ("addresses",): [],
    ("audit",): [],
    ("dead",): [],
    ("deliveries",): ["--rule", "paid-then", "--where", "payload.id == `1`"],
    ("diff",): ["GENERATION", "GENERATION"],
    ("explain",): [DLV],
    ("export",): ["--where", "payload.id == `1`"],
    ("rules",): [],
    ("show",): [JOB],
    ("status",): [],
    ("store", "backup"): ["copy.db"],
    ("store", "info"): [],
    ("store", "migrate"): [],
    ("store", "prune"): ["--dry-run"],
    ("subscriptions", "list"): [],
    ("targets",): [],
    ("token", "list"): [],
}
NEED_RULES: set[Path_] = {
    *(
        (name,)
        for name in (
            "serve",
            "send",
            "listen",
            "doctor",
            "replay",
            "cancel",
            "revive",
            "recover",
            "erase",
            "resume",
        )
    ),
    *(("targets", verb) for verb in ("pause", "resume")),
    *(("subscriptions", verb) for verb in ("create", "test")),
    ("store", "restore"),
    *(("token", verb) for verb in ("new", "revoke")),
    ("new", "test"),
}
"""What serves, sends, calls or changes: by today's rules, not by those of some day."""


@pytest.fixture
def empty(tmp_path: Path, rules: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nothing in it; the store is elsewhere, filled by rules that are gone."""
    rules.write_text(THEN, "utf-8")
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def kept(empty: Path, rules: Path) -> Path:
    ruleset = read_rules(rules, environ={}).ruleset
    assert ruleset is not None
    then = generation_of(ruleset, SystemClock())
    store = rules.parent / "far.db"

    async def fill() -> None:
        now = time.time_ns() // 1_000_000
        opened = await open_store(str(store), clock=SystemClock())
        await opened.keep_generation(then)
        sender = {"provider": "commerce", "headers": (("x-shopify-topic", "orders/paid"),)}
        one = a_delivery(id=DLV, received_at=now, body=b'{"id": 1}', generation=then.id, **sender)
        event = an_event(id="evt_" + DLV[4:])
        await opened.accept(Acceptance(one, (event,), (a_job(JOB, "paid-then", now),)))
        await opened.close()

    asyncio.run(fill())
    rules.unlink()
    return store


@pytest.fixture
def read(router: Router, kept: Path) -> Callable[..., Ran]:
    return lambda *args: router(*args, "--store", kept)


def test_every_command_that_takes_the_option_is_looked_at() -> None:
    taking = {path for path, one in commands() if any("--store" in p.opts for p in one.params)}
    assert taking == READS.keys() | NEED_RULES


@pytest.mark.parametrize("path", READS, ids=" ".join)
def test_what_reads_needs_the_store_alone(path: Path_, read: Router, kept: Path) -> None:
    given = [generation(kept) if one == "GENERATION" else one for one in READS[path]]
    ran = read(*path, *given)
    assert ran.code == 0, ran
    assert "rules.yaml" not in ran.err


def generation(store: Path) -> str:
    async def newest() -> str:
        opened = await open_store(str(store), clock=SystemClock())
        found = await opened.reads.generations(1)
        await opened.close()
        return found[0].id

    return asyncio.run(newest())


def test_it_is_the_rules_served_last_that_are_shown(read: Router) -> None:
    assert "paid-then" in read("rules").out
    assert "/wh_shop-0123456789abcdef" in read("addresses").out
    assert DLV[:12] in read("deliveries", "--endpoint", "shop").out


def test_an_explanation_is_by_the_rules_that_decided(read: Router, kept: Path) -> None:
    says = read("explain", DLV).out
    assert f"rules     generation {generation(kept)[:16]}, which decided" in says
    assert "  paid-then  MATCHED" in says


def test_a_file_that_is_given_explains_and_says_whether_it_decided(
    read: Router, rules: Path
) -> None:
    rules.write_text(THEN, "utf-8")
    assert f"rules     {rules}, which decided" in read("explain", DLV, "-f", rules).out
    rules.write_text(SMALL, "utf-8")
    assert f"rules     {rules}, not those that decided" in read("explain", DLV, "-f", rules).out


def test_a_file_with_faults_hinders_no_reading_and_is_named(read: Router, empty: Path) -> None:
    (empty / "rules.yaml").write_text("version: 1\nrules: 7\n", "utf-8")
    ran = read("explain", DLV)
    assert (ran.code, "which decided" in ran.out) == (0, True)
    assert ran.err.count("rules.yaml has errors") == 1
    # Who names it means it.
    assert read("explain", DLV, "-f", "rules.yaml").code == 1


@pytest.mark.parametrize(
    ("wrong", "store"),
    [
        ("version: 1\nserver: {store: 'sqlite:here.db'}\nrules: 7\n", "here.db"),
        ("version: 1\nserver: {store: here.db, listen: }}\n", "router.db"),
        ("version: 1\nrules: 7\n", "router-dev.db"),
    ],
)
def test_a_file_with_faults_says_which_store_is_meant(
    router: Router, empty: Path, kept: Path, wrong: str, store: str
) -> None:
    """In the middle of an edit the router is looked at all the same."""
    (empty / "rules.yaml").write_text(wrong, "utf-8")
    assert router("rules").code == 1
    kept.rename(empty / store)
    ran = router("rules")
    assert (ran.code, "paid-then" in ran.out) == (0, True), ran
    assert ran.err.count("rules.yaml has errors") == 1


def test_a_rules_file_that_is_there_is_the_one_to_read(read: Router, empty: Path) -> None:
    (empty / "rules.yaml").write_text(SMALL, "utf-8")
    assert "paid-then  orphan" in read("rules").out


def test_a_store_that_is_not_there_is_named(router: Router, empty: Path) -> None:
    ran = router("show", DLV, "--store", "nowhere.db")
    assert (ran.code, "there is no store nowhere.db" in ran.err) == (1, True)
