"""No table and no column is forgotten by `store copy`, on either side."""

import re
from contextlib import closing
from pathlib import Path

from router.store.moving.source import STEPS
from router.store.moving.tables import TABLES
from router.store.postgres import schema
from router.store.postgres.database import Database
from router.store.sqlite.connection import open_writer
from router.store.sqlite.schema import make
from tests.unit.store.postgres.looking import rows

MADE_ANEW = {
    *("ledger", "nodes", "shares", "claims"),  # of this database, and of who works on it
    "groups",  # of the runs, when all of them are there
    "redactions",  # every delivery is looked at again in another ledger
}
FILLED_ANEW = {("deliveries", "xid"), ("attempts", "lease"), ("published", "local")}
"""The number of a transaction, a lease that is over, and what a machine had of its own."""

NOT_COPIED = {
    *(("redactions", name) for name in ("delivery", "due_at")),  # looked at again
    *(("pulse", "n"), ("pulse", "beat")),
    *(("clock_steps", name) for name in ("n", "begun", "ended", "ahead")),  # applied to all times
    *(("generations", name) for name in ("first_delivery", "last_delivery")),
}
"""Of a file alone."""

_COLUMNS = """
    SELECT attrelid::regclass::text, attname, format_type(atttypid, NULL), attnotnull
    FROM pg_attribute WHERE attrelid = ANY ('{%s}'::regclass[]) AND attnum > 0 AND NOT attisdropped
"""


async def test_every_column_of_the_database_is_filled(db: Database) -> None:
    """With values of its own type."""
    found = {
        (table, column): kind if never_null else f"{kind}?"
        for table, column, kind, never_null in await rows(db, _COLUMNS % ",".join(schema.TABLES))
        if table not in MADE_ANEW and (table, column) not in FILLED_ANEW
    }
    assert found == {
        (table, column): kind.replace("escaped", "text")
        for table, columns in TABLES.items()
        for column, kind in columns.items()
    }


def test_every_column_of_the_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    file.touch()
    with closing(open_writer(file)) as db:
        make(db)
        there = db.execute(
            "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c "
            "WHERE t.type = 'table'"
        ).fetchall()
    read = {
        (name, word)
        for name, step in STEPS.items()
        for word in re.findall(r"(?<![\w.])(?:t\.)?(\w+)", step.sql(None))
    }
    assert set(there) - read == NOT_COPIED
