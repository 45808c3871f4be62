"""A job of a chain that a disk has spoilt, in a running router: the others end, somebody hears."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.senders import code
from tests.acceptance.sink import Sink
from tests.ledger import connect

pytestmark = pytest.mark.long

RULES = """
rules:
  - id: chain
    from: code
    actions:
      - {id: first, shell: {script: "while [ ! -e go ]; do sleep 0.05; done"}}
      - {id: spoilt, after: first, log: "never"}
      - {id: after_it, after: spoilt, log: "never"}
      - {id: beside, after: first, log: "done"}
  - id: call
    from: router
    events: job.dead
    actions: {http: {url: "http://127.0.0.1:PORT/call"}}
"""


def ends(store: Path) -> list[tuple[str, int, str | None]]:
    """Action, state and reason of the chain's jobs."""
    with closing(connect(store)) as db:
        return db.execute(
            "SELECT CAST(action AS BLOB), state, reason FROM jobs WHERE rule = 'chain' ORDER BY n"
        ).fetchall()


def test_a_spoilt_job_is_dead_alone_and_somebody_hears_of_it(make_rig: MakeRig, send: Send) -> None:
    with Sink() as sink:
        rig = make_rig(RULES.replace("PORT", str(sink.port)))
        with rig.router() as router:
            assert send(rig, code(), 1).status_code == 200
            router.until(lambda: ends(rig.store)[0][1] == 3, "the first to run")
            with closing(sqlite3.connect(rig.store, timeout=5)) as db, db:
                db.execute(
                    "UPDATE jobs SET action = CAST(x'7370ff696c74' AS TEXT) WHERE action = 'spoilt'"
                )
            (rig.folder / "go").touch()
            router.until(lambda: all(end[1] > 3 for end in ends(rig.store)), "all to end")
            router.until(lambda: len(sink.received) == 1, "the call")
            assert router.stop() == 0, router.output()
        lines = [json.loads(line) for line in router.log.read_text().splitlines()]
        assert [(state, reason) for _, state, reason in ends(rig.store)] == [
            (5, None),
            (4, "corrupt"),
            (6, "predecessor_dead: sp\ufffdilt"),
            (5, None),
        ]
        (call,) = [json.loads(one.body) for one in sink.received]
    assert (call["rule"], call["action"], call["reason"]) == ("chain", "sp\ufffdilt", "corrupt")
    dead = [line for line in lines if line["event"] == "dead letter"]
    assert [(line["job"], line["reason"]) for line in dead] == [(call["job"], "corrupt")]
    assert [line for line in lines if line["event"] == "store failed"] == []
