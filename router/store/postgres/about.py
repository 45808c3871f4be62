"""What an operator wants to know of the database itself, beside what it holds of work."""

from typing import Any

from router.store.postgres import nodes
from router.store.postgres.database import Tx
from router.store.postgres.reading import held_bytes
from router.store.values import DatabaseAbout, Standby

_MS = "coalesce(extract(epoch FROM clock_timestamp() - {}) * 1000, 0)::bigint"
_SETTINGS = (
    "SELECT current_setting('server_version'), current_setting('fsync') = 'on', "
    "reset_val FROM pg_settings WHERE name = 'synchronous_commit'"
)
_LEDGER = (
    "SELECT l.schema, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, "
    "(SELECT count(*) FROM pg_inherits WHERE inhparent = 'deliveries_days'::regclass), "
    "(SELECT count(*) FROM queue), "
    "(SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = 'queue'::regclass) FROM ledger l"
)
_OLDEST = (
    f"SELECT {_MS.format('min(xact_start)')}, coalesce(max(age(backend_xmin)), 0) "
    "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
)
_STANDBYS = "SELECT coalesce(application_name, ''), state, sync_state FROM pg_stat_replication"


async def about(tx: Tx) -> DatabaseAbout:
    """The state of the database, as far as our role may see it."""
    version, fsync, synchronous = await tx.row(_SETTINGS)
    schema, now, days, queued, dead = await tx.row(_LEDGER)
    oldest_ms, oldest_xmin = await tx.row(_OLDEST)
    standbys: list[Any] = list(await tx.all(_STANDBYS))
    return DatabaseAbout(
        version=version,
        fsync=fsync,
        synchronous_commit=synchronous,
        schema=schema,
        now=now,
        bytes=await held_bytes(tx),
        days=days,
        queued=queued,
        dead_tuples=dead or 0,
        oldest_transaction_ms=oldest_ms,
        oldest_xmin_age=oldest_xmin,
        standbys=tuple([Standby(*row) for row in standbys]),
        nodes=await nodes.listed(tx),
    )
