"""A job's row that a disk has changed ends the running router, and every start, naming the row."""

import sqlite3
from contextlib import closing

import pytest

from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.senders import code
from tests.ledger import connect

pytestmark = pytest.mark.long

RULES = """
rules:
  - id: chain
    from: code
    actions:
      - {id: first, shell: {script: "while [ ! -e go ]; do sleep 0.05; done"}}
      - {id: damaged, after: first, log: "never"}
"""


def test_a_damaged_row_ends_the_router_and_is_named(make_rig: MakeRig, send: Send) -> None:
    rig = make_rig(RULES)
    with rig.router() as router:
        assert send(rig, code(), 1).status_code == 200

        def is_running() -> bool:
            with closing(connect(rig.store)) as db:
                return db.execute("SELECT state FROM jobs ORDER BY n").fetchone() == (3,)

        router.until(is_running, "the first to run")
        with closing(sqlite3.connect(rig.store, timeout=5)) as db, db:
            [(number,)] = db.execute(
                "UPDATE jobs SET action = CAST(x'7370ff696c74' AS TEXT) "
                "WHERE action = 'damaged' RETURNING n"
            ).fetchall()
        (rig.folder / "go").touch()
        assert router.ended(within=20) == 1, router.output()
    named = f"row {number} of table jobs cannot be read"
    assert named in router.output()
    assert "restore a backup" in router.output()
    again = rig.router().launch()
    assert again.ended(within=20) == 1, again.output()
    assert named in again.output()
