"""
Writes one line an event into a SQLite file, once, however often the job is tried.

    python:
      call: "ledger:record"
      args: {file: sales.db, kind: order, key: "{{ payload.id }}", amount: "{{ def.total }}"}

The table `entries` has the columns job, at, kind, key and amount.
"""

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

from router.plugin import Event, Fail, PlainContext

JSON = str | int | Decimal | None

_TABLE = """
CREATE TABLE IF NOT EXISTS entries (
    job TEXT PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, key TEXT, amount TEXT
)
"""
_LINE = "INSERT OR IGNORE INTO entries VALUES (?, ?, ?, ?, ?)"


def record(
    event: Event,
    context: PlainContext,
    *,
    file: str,
    kind: str,
    key: JSON = None,
    amount: JSON = None,
) -> dict[str, bool]:
    """
    Add the line unless this job has already added it.

    The job's id is the line's key: a second attempt, after a crash in between, finds it there.
    A replay is a new job and adds a line of its own. Amounts are kept digit for digit, as text.
    """
    if Path(file).is_absolute() or ".." in Path(file).parts:
        raise Fail("'file' is a path below the folder of the rules file")
    line = (event.idempotency_key, event.received_at.isoformat(), kind, _text(key), _text(amount))
    with closing(sqlite3.connect(file, timeout=10)) as database, database:
        database.execute(_TABLE)
        added = database.execute(_LINE, line).rowcount == 1
    if not added:
        context.logger.info("%s is in the ledger already", event.idempotency_key)
    return {"added": added}


def _text(value: JSON) -> str | None:
    return None if value is None else str(value)
