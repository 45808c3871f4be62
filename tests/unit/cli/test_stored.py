"""The commands that read the ledger, and the operator's verbs."""

import asyncio
import json
import re
import shlex
import time
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from router.clock import SystemClock
from router.model.delivery import Delivery
from router.model.job import Attempt, NewJob, Settlement
from router.store.sqlite.store import open_store
from router.store.values import Acceptance
from tests.builders import a_delivery, an_event
from tests.unit.cli.conftest import Changes, Ran, Router
from tests.unit.cli.held_router import held_router

DLV = "dlv_01ABCDEFGH0123456789ABCDEF"
OTHER = "dlv_01ABCDEFGJ0123456789ABCDEF"
JOB, GONE = "job_01ABCDEFGH0000000000000001", "job_01ABCDEFGJ0000000000000002"
MINUTE = 60_000
THIRD, THIRD_JOB = "dlv_7ABCDEFGH00123456789ABCDEF", "job_6ABCDEFGH00000000000000001"
FIRST = f"delivery.id == '{DLV}'"


class Ledger(NamedTuple):
    """A rules file and its store: one delivery whose job is dead, one whose rule is gone."""

    rules: Path
    store: Path


def a_job(id_: str, rule: str, now: int) -> NewJob:
    return NewJob(id_, 0, "evt_" + "0" * 26, "orders/paid", rule, "log", "log", "t", now)


async def fill(store: Path, now: int) -> None:
    ledger = await open_store(str(store), clock=SystemClock())
    hostile = b'{"id": 1, "note": "\x1b[31mred"}'
    sender = {"provider": "commerce", "headers": (("x-shopify-topic", "orders/paid"),)}
    first = a_delivery(id=DLV, received_at=now - MINUTE, body=hostile, **sender)
    second = a_delivery(id=OTHER, received_at=now, state="routed", body=b"\xff not json", **sender)
    await accept(ledger, first, a_job(JOB, "paid", now - MINUTE))
    await accept(ledger, second, a_job(GONE, "former", now + MINUTE))
    batch = await ledger.lease({"t": 1}, lease="boot/1", now=now)
    [leased] = batch.jobs
    result = {"exit": 1, "stdout": "two\nlines \x1b[0m", "stderr": ""}
    attempt = Attempt(leased.job.id, 1, now, now + 12, "dead", "exit 1", result, "feed")
    await ledger.settle(Settlement(leased.job.id, "boot/1", attempt, "dead", reason="exit 1"))
    await ledger.close()


async def accept(ledger: object, delivery: Delivery, job: NewJob) -> None:
    key = delivery.id.encode()
    event = an_event(id="evt_" + delivery.id[4:], keys=(key,))
    await ledger.accept(Acceptance(delivery, (event,), (job,), 2**50))  # type: ignore[attr-defined]


@pytest.fixture
def ledger(rules: Path) -> Ledger:
    store = rules.parent / "router.db"
    asyncio.run(fill(store, time.time_ns() // 1_000_000))
    return Ledger(rules, store)


@pytest.fixture
def ask(router: Router, ledger: Ledger, changes: Changes) -> Router:
    """A command on this ledger; a router runs at its admin address once one changes something."""

    def asked(command: str, *args: str) -> Ran:
        return router(command, "-f", ledger.rules, *args)

    return changes(asked, ledger.rules)


def test_counts_that_a_server_does_not_write_for_us_are_said_to_be_old(
    ask: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask("cancel", "--rule", "paid", "--dry-run").code == 0
    monkeypatch.setenv("ROUTER_TOKEN", "of another router")
    ran = ask("deliveries")
    assert ran.code == 0
    assert DLV[:16] in ran.out
    assert ran.err.startswith("counts may be some seconds old: the server at http://127.0.0.1")


def test_deliveries_come_newest_first_with_their_jobs(ask: Router) -> None:
    ran = ask("deliveries")
    assert (ran.code, ran.err) == (0, "")
    header, newest, oldest = ran.out.splitlines()
    assert header.split() == ["RECEIVED", "DELIVERY", "ENDPOINT", "EVENT", "STATE", "JOBS"]
    assert newest.split()[1:] == [OTHER[:16], "shop", "orders/paid", "routed", "1", "available"]
    assert oldest.endswith("1 dead")


def test_a_sender_is_shown_as_its_endpoint_calls_it(ask: Router, ledger: Ledger) -> None:
    """By its own name once the endpoint is gone."""

    def shown() -> tuple[str, str, str]:
        [line] = [one for one in ask("show", DLV).out.splitlines() if one.startswith("endpoint")]
        whole, job = (json.loads(ask("show", id_, "--json").out) for id_ in (DLV, JOB))
        return line.split(maxsplit=1)[1], *(one["delivery"]["provider"] for one in (whole, job))

    assert shown() == ("shop (shopify)", "shopify", "shopify")
    text = ledger.rules.read_text("utf-8").replace("  shop: {id: shop-", "  store: {id: shop-")
    ledger.rules.write_text(text.replace("from: shop", "from: store"), "utf-8")
    assert shown() == ("shop (commerce)", "commerce", "commerce")


def test_deliveries_in_json_are_whole(ask: Router) -> None:
    listed = json.loads(ask("deliveries", "--json").out)
    assert [d["id"] for d in listed] == [OTHER, DLV]
    assert listed[1]["jobs"] == {"dead": 1}


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [
        ("deliveries",),
        ("dead",),
        ("dead", "--list"),
        ("show", DLV),
        ("audit",),
        ("rules",),
        ("targets",),
        ("replay", "--rule", "paid", "--dry-run"),
        ("replay", "--rule", "paid", "--dry-run", "--again"),
        ("replay", JOB),
        ("revive", "--rule", "paid", "--dry-run"),
    ],
)
def test_json_has_times_that_a_selector_takes(command: tuple[str, ...], ask: Router) -> None:
    """No Unix milliseconds are left in it."""
    ask("replay", JOB)
    reported = ask(*command, "--json")
    assert reported.code == 0
    assert not re.search(r"\b1[0-9]{12}\b", reported.out), reported.out
    for time_ in re.findall(r'"(20\d\d-[^"]*)"', reported.out)[:2]:
        assert ask("deliveries", "--since", time_).code == 0


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["--state", "dead"], [DLV]),
        (["--rule", "former"], [OTHER]),
        (["--since", "30s"], [OTHER]),
        (["--until", "30s"], [DLV]),
        (["--limit", "1"], [OTHER]),
        (["--endpoint", "code"], []),
        (["--event", "orders/paid"], [OTHER, DLV]),
    ],
)
def test_the_selector_selects(args: list[str], found: list[str], ask: Router) -> None:
    assert [d["id"] for d in json.loads(ask("deliveries", "--json", *args).out)] == found


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--endpoint", "shp"), "there is no endpoint 'shp'; did you mean 'shop'?"),
        (("--rule", "formr"), "there is no rule 'formr'; did you mean 'former'?"),
        (("--cause", "0123456789ab"), "there is no cause '0123456789ab'; `router dead` lists them"),
        (("--replay", "rpl_1"), "there is no replay 'rpl_1'; `router audit` lists them"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        ("deliveries",),
        ("dead",),
        ("dead", "--list"),
        ("replay", "--dry-run"),
        ("replay", "--yes"),
        ("cancel", "--yes"),
        ("cancel", "--dry-run"),
        ("revive", "--yes"),
        ("revive", "--dry-run"),
    ],
)
def test_a_selector_of_what_is_not_there_is_a_mistake(
    command: tuple[str, ...], args: tuple[str, str], words: str, ask: Router
) -> None:
    """Neither today's rules nor the store know it: an empty answer would look like one."""
    ran = ask(*command, *args)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_a_misspelt_selector_is_said_without_a_store_too(router: Router, rules: Path) -> None:
    ran = router("deliveries", "-f", rules, "--endpoint", "shp")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean 'shop'?" in ran.err


@pytest.mark.parametrize("identity", [DLV, DLV[:14], DLV[4:14], JOB, JOB[:16]])
def test_show_finds_a_delivery_or_job_by_its_beginning(identity: str, ask: Router) -> None:
    ran = ask("show", identity)
    assert (ran.code, ran.err) == (0, "")
    assert f"delivery  {DLV}" in ran.out
    assert "verified  by secret 'shop'" in ran.out
    assert "\n  attempt 1  " in ran.out
    assert "12 ms  dead: exit 1" in ran.out
    assert "    stdout:\n      two\n      lines \\x1b[0m\n" in ran.out
    assert "\x1b" not in ran.out


def test_show_in_json_has_the_body(ask: Router) -> None:
    text, raw = (json.loads(ask("show", i, "--json").out) for i in (DLV, OTHER))
    assert text["delivery"]["body"].startswith('{"id": 1')
    assert raw["delivery"]["body_base64"]
    assert text["attempts"][0]["result"]["exit"] == 1


def test_an_ambiguous_beginning_is_said(ask: Router) -> None:
    ran = ask("show", "01ABCDEF")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert ask("show", "dlv_99999999").code == 1


async def add_third(store: Path, now: int) -> None:
    ledger = await open_store(str(store), clock=SystemClock())
    heads = (("x-shopify-topic", "orders/paid"),)
    third = a_delivery(id=THIRD, received_at=now, provider="commerce", headers=heads)
    await accept(ledger, third, a_job(THIRD_JOB, "paid", now + MINUTE))
    await ledger.close()


@pytest.mark.long
def test_a_beginning_of_four_is_enough_if_only_one_thing_has_it(
    ask: Router, ledger: Ledger
) -> None:
    """However the verb, with its kind or without; a short or an ambiguous one is said."""
    asyncio.run(add_third(ledger.store, time.time_ns() // 1_000_000))
    for written in ("7ABC", "dlv_7ABC", "7ABCDEF"):
        assert f"delivery  {THIRD}" in ask("show", written).out
        assert f"delivery  {THIRD}" in ask("explain", written).out
    for written in ("6ABC", "job_6ABC", "7ABC", THIRD):
        assert ask("replay", written, "--dry-run").out.startswith("1 job of 1 delivery")
    assert ask("cancel", "6ABC").out == "1 job cancelled\n"
    for command in ("show", "explain", "replay", "cancel", "revive"):
        short, several = ask(command, "7AB"), ask(command, "dlv_01ABCDEF")
        assert (short.code, several.code) == (1, 1)
        assert "is too short: write 4 or more characters after dlv_" in short.err
        assert "dlv_01ABCDEF fits several; write more of it" in several.err


@pytest.mark.long
def test_show_names_what_a_job_repeats(ask: Router) -> None:
    ask("replay", JOB)
    assert f"\n  replay of {JOB}\n" in ask("show", DLV).out


def test_dead_jobs_are_listed_with_their_reason(ask: Router) -> None:
    [row] = ask("dead", "--list").out.splitlines()[1:]
    assert row.split()[1:] == [JOB[:16], "paid/log", "shop", "orders/paid", "1", "exit", "1"]
    assert [j["id"] for j in json.loads(ask("dead", "--list", "--json").out)] == [JOB]
    assert json.loads(ask("dead", "--list", "--json", "--rule", "former").out) == []


@pytest.mark.long
def test_dead_jobs_are_grouped_by_cause(ask: Router) -> None:
    """With the command that tries exactly these again, after which they are dead no more."""
    [cause] = json.loads(ask("dead", "--json").out)
    assert (cause["rule"], cause["target"], cause["reason"]) == ("paid", "t", "exit 1")
    assert (cause["count"], cause["examples"]) == (1, [JOB])
    ran = ask("dead")
    assert cause["key"] in ran.out
    assert f"`router revive --cause {cause['key']} -f " in ran.err
    assert json.loads(ask("dead", "--json", "--where", FIRST).out) == [cause]
    assert json.loads(ask("dead", "--json", "--where", "delivery.id == 'none'").out) == []
    assert ask(*cause["revive"].split()[1:], "--yes").out == "1 job revived\n"
    assert json.loads(ask("dead", "--json").out) == []


def test_a_condition_selects_what_is_stored(ask: Router) -> None:
    """Of deliveries and of jobs, newest first."""
    fitting = json.loads(ask("deliveries", "--json", "--where", FIRST).out)
    assert [d["id"] for d in fitting] == [DLV]
    assert fitting[0]["jobs"] == {"dead": 1}
    both = ask("deliveries", "--json", "--where", "endpoint == 'shop'")
    assert [d["id"] for d in json.loads(both.out)] == [OTHER, DLV]
    jobs = json.loads(ask("dead", "--list", "--json", "--where", FIRST).out)
    assert [j["id"] for j in jobs] == [JOB]
    ran = ask("deliveries", "--where", "payload.note != 1")
    assert "could not be evaluated on 2 events" in ran.err
    ran = ask("deliveries", "--where", "order.id == 1")
    assert (ran.code, ran.out) == (2, "")


def test_a_condition_selects_what_is_changed(ask: Router) -> None:
    """Never more than it says."""
    assert ask("revive", "--where", "delivery.id == 'none'", "--yes").out == "0 jobs revived\n"
    assert ask("revive", "--where", FIRST, "--yes").out == "1 job revived\n"
    assert ask("cancel", "--where", FIRST, "--yes").out == "1 job cancelled\n"
    assert [r["jobs"] for r in json.loads(ask("rules", "--json").out) if r["mode"] == "orphan"]


@pytest.mark.long
def test_a_selection_is_not_replayed_unasked(ask: Router) -> None:
    """Nobody is at the keyboard."""
    ran = ask("replay", "--state", "dead")
    assert ran.code == 2
    assert "Not a terminal: pass --yes or --dry-run" in ran.err
    plan = ask("replay", "--state", "dead", "--dry-run").out.splitlines()
    assert plan[0] == "1 job of 1 delivery would be replayed"
    assert plan[2].split() == ["paid/log", "paid/log", "1"]
    ran = ask("replay", "--state", "dead", "--yes", "--as", "monday", "--json")
    assert json.loads(ran.out)["id"] == "monday"
    ran = ask("replay", "--state", "dead", "--yes", "--as", "monday", "--json")
    assert json.loads(ran.out)["jobs"] == 1
    assert len(json.loads(ask("audit", "--json").out)) == 1
    assert ask("cancel", "--replay", "monday", "--yes").out == "1 job cancelled\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("verb", "args", "head", "part"),
    [
        (
            "cancel",
            ("--rule", "former"),
            "1 job of 1 delivery would be cancelled",
            "former/log t 1",
        ),
        ("cancel", ("--rule", "paid"), "0 jobs of 0 deliveries would be cancelled", ""),
        ("revive", ("--rule", "paid"), "1 job of 1 delivery would be revived", "paid/log t 1"),
        ("revive", ("--where", FIRST), "1 job of 1 delivery would be revived", "paid/log t 1"),
        ("revive", (JOB,), "1 job of 1 delivery would be revived", "paid/log t 1"),
    ],
)
def test_a_selection_is_not_changed_unasked(
    verb: str, args: tuple[str, ...], head: str, part: str, ask: Router
) -> None:
    """The plan is of what would be done; nobody is at the keyboard, so nothing is."""
    before = ask("deliveries", "--json").out
    if JOB not in args:
        ran = ask(verb, *args)
        assert (ran.code, ran.out) == (2, "")
        assert "Not a terminal: pass --yes or --dry-run" in ran.err
    ran = ask(verb, *args, "--dry-run")
    plan = ran.out.splitlines()
    assert (ran.code, plan[0]) == (0, head)
    assert not part or plan[2].split() == part.split()
    assert not part or plan[3].startswith("received from 20")
    reported = json.loads(ask(verb, *args, "--dry-run", "--json").out)
    assert (reported["dry_run"], reported["jobs"]) == (True, int(bool(part)))
    assert (ask("deliveries", "--json").out, ask("audit", "--json").out) == (before, "[]\n")
    done = json.loads(ask(verb, *args, "--yes", "--json").out)
    assert done["revived" if verb == "revive" else "cancelled"] == reported["jobs"]


def test_a_replay_s_rate_is_reported_in_words(ask: Router) -> None:
    ran = ask("replay", JOB, "--rate", "fast")
    assert ran.code == 2
    assert "--rate takes 5/s, 30/m or none" in ran.err


def test_a_command_that_is_printed_works_on_the_same_store(
    router: Router, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    moved = ledger.store.rename(tmp_path / "an other.db")
    said = router("dead", "-f", ledger.rules, "--store", moved).err
    [again, each] = re.findall(r"`router (.+?)`", said)
    place = f" -f {ledger.rules} --store '{moved}'"
    assert again.endswith(place)
    assert each == f"dead --list{place}"
    assert JOB[:16] in router(*shlex.split(each)).out
    with held_router(ledger.rules, f"sqlite:{moved}"):
        assert router(*shlex.split(again), "--yes").out == "1 job revived\n"


@pytest.mark.long
def test_the_audit_tells_who_changed_what(ask: Router) -> None:
    """Newest first, with how many."""
    ask("revive", "--rule", "paid", "--where", FIRST, "--since", "2h", "--yes")
    ask("cancel", JOB)
    lines = json.loads(ask("audit", "--json").out)
    assert [(x["verb"], x["who"], x["count"]) for x in lines] == [
        ("cancel", "token", 1),
        ("revive", "token", 1),
    ]
    rows = ask("audit").out.splitlines()
    assert rows[0].split() == ["AT", "WHO", "FROM", "DID", "COUNT", "WHAT"]
    assert rows[1].endswith(f"router cancel {JOB}")
    assert f"{lines[0]['peer']}  cancel" in rows[1]
    command = lines[1]["command"]
    assert rows[2].endswith(f"  {command}")
    selector = shlex.split(command)[2:]
    again = json.loads(ask("deliveries", "--json", *selector).out)
    assert [d["id"] for d in again] == [DLV]
    since = lines[1]["asked"]["selector"]["since"]
    assert selector == ["--rule", "paid", "--since", since, "--where", FIRST]
    assert datetime.fromisoformat(lines[0]["at"]) >= datetime.fromisoformat(since)
    assert json.loads(ask("audit", "--json", "--until", "1h").out) == []
    assert ask("audit", "--since", "1h", "--until", "2h").code == 2


def test_rules_show_jobs_and_orphans(ask: Router) -> None:
    rows = {row["rule"]: row for row in json.loads(ask("rules", "--json").out)}
    assert rows["paid"]["jobs"] == {"dead": 1}
    assert (rows["former"]["mode"], rows["former"]["jobs"]) == ("orphan", {"available": 1})
    assert "former   orphan" in ask("rules").out


def test_a_development_store_is_found_where_only_that_one_is(ask: Router, ledger: Ledger) -> None:
    ledger.store.rename(ledger.store.with_name("router-dev.db"))
    assert len(json.loads(ask("deliveries", "--json").out)) == 2


def test_a_job_is_revived_once(ask: Router) -> None:
    ran = ask("revive", JOB[:16])
    assert (ran.code, ran.out, ran.err) == (0, "1 job revived\n", "")
    assert json.loads(ask("dead", "--json").out) == []
    assert json.loads(ask("revive", "--rule", "paid", "--yes", "--json").out)["revived"] == 0


@pytest.mark.long
def test_what_was_made_again_is_revived_by_its_name_alone(ask: Router) -> None:
    """The plan and the answer say what was passed over, and why; a name says what it risks."""
    ask("replay", JOB, "--as", "monday")
    for way in ("--dry-run", "--yes"):
        ran = ask("revive", "--state", "dead", way)
        assert ran.out.startswith("0 jobs")
        assert "1 dead job skipped: already replayed, the last by monday" in (ran.err)
    reported = json.loads(ask("revive", "--state", "dead", "--yes", "--json").out)
    assert (reported["revived"], reported["passed"], reported["earlier"]["id"]) == (0, 1, "monday")
    assert datetime.fromisoformat(reported["earlier"]["at"])
    for way in ("--dry-run", "--yes"):
        ran = ask("revive", JOB, way)
        assert ran.out.startswith("1 job")
        assert f"{JOB} has a newer run, job_" in ran.err
        assert "(available): its work may be done twice" in ran.err


def test_cancel_ends_an_orphan(ask: Router) -> None:
    assert ask("cancel", "--rule", "former", "--yes").out == "1 job cancelled\n"
    assert "former" not in [r["rule"] for r in json.loads(ask("rules", "--json").out)]


def test_a_limit_that_was_reached_is_said(ask: Router) -> None:
    one = ("--state", "available", "--limit", "1", "--yes")
    assert "run it again for the rest" in ask("cancel", *one).err


def test_replay_makes_new_jobs_and_a_dry_run_makes_none(ask: Router) -> None:
    plan = ask("replay", JOB, "--dry-run").out
    assert plan.startswith("1 job of 1 delivery would be replayed\n")
    assert json.loads(ask("deliveries", "--json").out)[1]["jobs"] == {"dead": 1}
    assert ask("replay", JOB).out.startswith("1 job of 1 delivery replayed\nreplay rpl_")
    assert json.loads(ask("deliveries", "--json").out)[1]["jobs"] == {"available": 1, "dead": 1}


@pytest.mark.long
@pytest.mark.parametrize("what", [("--rule", "paid"), ("--until", "30s", "--recorded"), (JOB,)])
def test_the_same_replay_again_is_reported_and_makes_none(
    what: tuple[str, ...], ask: Router
) -> None:
    """By whom and when it was made, and how it is done once more."""
    first = json.loads(ask("replay", *what, "--yes", "--json").out)
    assert first["jobs"] == 1
    reported = rf"it was replayed at \S+Z by {first['id']}; `--again` does it once more\n"
    for args in (("--yes",), ("--dry-run",), ("--yes", "--as", "other")):
        assert re.fullmatch(reported, ask("replay", *what, *args).out)
    ran = ask("replay", *what, "--dry-run", "--again")
    assert ran.out.startswith("1 job of 1 delivery would be replayed\n")
    assert ask("replay", *what, "--yes", "--again").out.startswith("1 job of 1 delivery replayed\n")
    assert json.loads(ask("deliveries", "--json").out)[1]["jobs"] == {"available": 2, "dead": 1}


def test_of_a_selection_what_is_new_is_made_and_the_rest_is_reported(ask: Router) -> None:
    ask("replay", JOB)
    everything = ask("replay", "--event", "orders/paid", "--recorded", "--yes")
    assert everything.out.startswith("1 job of 1 delivery replayed\n")
    assert "1 skipped: already replayed, the last at" in everything.err


def test_an_unknown_id_is_said(ask: Router) -> None:
    ran = ask("replay", "dlv_99999999")
    assert ran.code == 1
    assert "dlv_99999999" in ran.err


CHANGING = (
    ("replay", DLV), ("replay", "--rule", "paid", "--dry-run"), ("revive", JOB),
    ("cancel", "--rule", "paid", "--yes"), ("erase", DLV, "--yes"), ("erase", "--status"),
    ("resume",),
    ("targets", "pause", "t"), ("targets", "resume", "t"), ("recover", "shop", "--yes"),
    ("token", "new", "ci", "--role", "viewer"), ("token", "revoke", "ci"),
)  # fmt: skip


@pytest.mark.parametrize("words", CHANGING, ids=" ".join)
def test_a_verb_without_a_router_is_refused_and_says_how_to_start_one(
    words: tuple[str, ...], router: Router, ledger: Ledger
) -> None:
    before = ledger.store.read_bytes()
    ran = router(*words, "-f", ledger.rules, "--admin", "127.0.0.1:1")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(
        "router: no server runs at http://127.0.0.1:1: start `router serve`, or "
        "`router serve --hold` to change something before any job runs"
    )
    assert ledger.store.read_bytes() == before


def test_a_verb_without_a_router_and_a_store_makes_no_store(router: Router, rules: Path) -> None:
    ran = router("cancel", "-f", rules, "--rule", "paid", "--yes", "--admin", "127.0.0.1:1")
    assert (ran.code, "no server runs" in ran.err) == (1, True)
    assert not (rules.parent / "router.db").exists()


def test_the_ring_is_only_in_a_running_server(ask: Router) -> None:
    ran = ask("deliveries", "--refused", "--admin", "127.0.0.1:1")
    assert (ran.code, ran.err) == (1, "router: no server runs at http://127.0.0.1:1\n")
