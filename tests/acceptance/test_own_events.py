"""A dead letter calls a person: the real process, killed at the very moment too."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import Rig
from tests.acceptance.senders import code
from tests.acceptance.sink import Sink
from tests.ledger import STATE, SUCCEEDED, connect

pytestmark = pytest.mark.long

RULES = """
rules:
  - id: doomed
    from: code
    actions: {http: {url: "http://127.0.0.1:PORT/gone"}}
    retry: none
  - id: call
    from: router
    events: job.dead
    actions: {http: {url: "http://127.0.0.1:PORT/call"}}
    retry: {schedule: [1s, 1s, 1s, 1s, 1s]}
"""
QUICK = """
rules:
  - id: doomed
    from: code
    actions: {shell: {argv: ["false"]}}
  - id: call
    from: router
    events: job.dead
    actions: {log: "{{ payload.job }} is dead"}
"""
KILLED = """
rules:
  - id: doomed
    from: code
    actions: {shell: {script: "kill -9 $PPID; sleep 5"}, on_interrupt: dead}
  - id: call
    from: router
    events: job.dead
    actions: {http: {url: "http://127.0.0.1:PORT/call"}}
"""

SUMMED = """
rules:
  - id: doomed
    from: code
    actions: {shell: {argv: ["false"]}}
  - id: call
    from: router
    events: jobs.dead
    actions: {http: {url: "http://127.0.0.1:PORT/call"}}
"""


def calls(sink: Sink) -> list[dict[str, object]]:
    return [json.loads(r.body) for r in sink.received if r.path == "/call"]


def dead(store: Path) -> list[tuple[str, str]]:
    """Dead jobs and their endpoints."""
    with connect(store) as db:
        return db.execute(
            "SELECT j.id, d.endpoint FROM jobs j JOIN deliveries d ON d.n = j.n >> 20 "
            "WHERE j.state = ?",
            (STATE["dead"],),
        ).fetchall()


def own_deliveries(rig: Rig) -> list[dict[str, object]]:
    with connect(rig.store) as db:
        rows = db.execute("SELECT body FROM deliveries WHERE endpoint = 'router'").fetchall()
    return [json.loads(body) for (body,) in rows]


def test_a_dead_letter_calls_a_sink(make_rig: MakeRig, send: Send) -> None:
    with Sink(answers=[500]) as sink:
        rig = make_rig(RULES.replace("PORT", str(sink.port)))
        with rig.router() as router:
            assert send(rig, code(), 1).status_code == 200
            router.until(lambda: len(calls(sink)) == 1, "the call")
            ((job, _),) = dead(rig.store)
    (reported,) = calls(sink)
    assert (reported["job"], reported["rule"], reported["endpoint"]) == (job, "doomed", "code")
    assert reported["last"] == {"status": 500, "exit": None, "text": None}
    assert own_deliveries(rig) == [reported]


def test_who_follows_the_deliveries_gets_it(make_rig: MakeRig, send: Send) -> None:
    rig = make_rig(QUICK)
    with rig.router() as router:
        token = Path(f"{rig.store}.token").read_text().strip()
        head = {"authorization": f"Bearer {token}"}
        with httpx.stream(
            "GET", f"{router.admin_url}/api/signal", headers=head, timeout=20
        ) as signal:
            pieces = signal.iter_raw()
            assert next(pieces)
            assert send(rig, code(), 1).status_code == 200
            found: list[dict[str, Any]] = []
            while not found and next(pieces):
                url = f"{router.admin_url}/api/deliveries/after?endpoint=router"
                found = httpx.get(url, headers=head, timeout=20).json()["deliveries"]
    assert [event["name"] for event in found[0]["events"]] == ["job.dead"]


def test_a_dead_call_makes_no_further_call(make_rig: MakeRig, send: Send) -> None:
    with Sink(answers=[500, 410]) as sink:
        rig = make_rig(RULES.replace("PORT", str(sink.port)))
        with rig.router() as router:
            assert send(rig, code(), 1).status_code == 200
            router.until(lambda: len(dead(rig.store)) == 2, "both dead")
            assert router.stop() == 0
    assert sorted(endpoint for _, endpoint in dead(rig.store)) == ["code", "router"]
    assert len(own_deliveries(rig)) == 1


def test_a_job_that_takes_the_router_with_it_is_reported_by_the_next(
    make_rig: MakeRig, send: Send
) -> None:
    with Sink() as sink:
        rig = make_rig(KILLED.replace("PORT", str(sink.port)))
        with rig.router() as router:
            assert send(rig, code(), 1).status_code == 200
            router.until(lambda: True, "a start")
            assert router.ended(within=10) == -9
        with rig.router() as router:
            router.until(lambda: len(calls(sink)) == 1, "the call")
    (reported,) = calls(sink)
    assert (reported["reason"], reported["rule"]) == ("the router ended", "doomed")
    assert len(own_deliveries(rig)) == 1


def test_kills_lose_no_call_and_tell_none_twice(make_rig: MakeRig, send: Send) -> None:
    """Each time killed as soon as one more job is dead: the moment between it and its call."""
    rig = make_rig(QUICK)
    for cycle in range(5):
        with rig.router() as router:
            before = len(_doomed(rig)) if cycle else 0
            sent = range(cycle * 8, cycle * 8 + 8)
            assert all(send(rig, code(), n).status_code == 200 for n in sent)
            router.until(lambda most=before: len(_doomed(rig)) > most, "one more dead")
            router.kill()
        assert {one["job"] for one in own_deliveries(rig)} == set(_doomed(rig))
    with rig.router() as router:
        router.until(lambda: len(_doomed(rig)) == 40, "all dead")
        router.until(lambda: _called(rig) == 40, "all calls")
        assert router.stop() == 0
    assert sorted(str(one["job"]) for one in own_deliveries(rig)) == sorted(_doomed(rig))


def test_those_that_died_before_a_kill_are_one_call_of_the_next(
    make_rig: MakeRig, send: Send
) -> None:
    with Sink() as sink:
        rig = make_rig(SUMMED.replace("PORT", str(sink.port)))
        with rig.router() as router:
            assert all(send(rig, code(), n).status_code == 200 for n in range(20))
            router.until(lambda: len(_doomed(rig)) == 20, "all dead")
            router.kill()
        told = own_deliveries(rig)  # a slow machine may have looked before the kill
        with rig.router() as router:
            router.until(lambda: bool(calls(sink)), "the call")
            assert router.stop() == 0
    assert own_deliveries(rig) == calls(sink)
    assert calls(sink) == told or [one["new"] for one in calls(sink)] == [20]


def _doomed(rig: Rig) -> list[str]:
    return [job for job, endpoint in dead(rig.store) if endpoint == "code"]


def _called(rig: Rig) -> int:
    with connect(rig.store) as db:
        found = db.execute("SELECT count(*) FROM jobs WHERE state = ?", (SUCCEEDED,)).fetchone()
    return int(found[0])
