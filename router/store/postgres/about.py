"""
What an operator wants to know of the database itself, beside what it holds of work: as far as our
role may see it, by questions whose cost grows with the days that are kept, and with nothing else.
"""

from router.model.settings import DAY_MS
from router.store.database_about import DatabaseAbout, DatabaseSettings, Standby
from router.store.postgres import nodes, partitions, schema, shares
from router.store.postgres.database import Tx

COUNTED = 100_000
"""Open jobs are counted up to here."""

_MS = "(extract(epoch FROM {}) * 1000)::bigint"
_SETTINGS = """
    SELECT current_setting('server_version'), current_setting('fsync') = 'on',
        current_setting('full_page_writes') = 'on',
        (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),
        current_setting('synchronous_standby_names'),
        current_setting('autovacuum') = 'on' AND NOT EXISTS (
            SELECT FROM pg_class, pg_options_to_table(reloptions)
            WHERE oid = 'queue'::regclass AND option_name = 'autovacuum_enabled'
            AND NOT option_value::boolean
        ),
        current_setting('max_connections')::integer
            - current_setting('superuser_reserved_connections')::integer
            - coalesce(current_setting('reserved_connections', true)::integer, 0)
"""
_QUEUE = f"""
    SELECT CASE WHEN counted > {COUNTED} THEN greatest(counted, n_live_tup) ELSE counted END,
        n_dead_tup
    FROM (SELECT count(*) AS counted FROM (SELECT FROM queue LIMIT {COUNTED + 1}) first) counted,
        pg_stat_user_tables WHERE relid = 'queue'::regclass
"""
# A session may have no start though we may see it: it began or ended while the view was read.
_FEED = f"""
    SELECT pg_snapshot_xmax(now)::text::bigint - pg_snapshot_xmin(now)::text::bigint,
        CASE WHEN all_seen THEN coalesce({_MS.format("clock_timestamp() - oldest")}, 0) END
    FROM pg_current_snapshot() AS now, (
        SELECT coalesce(bool_and(seen), true) AS all_seen, min(began) AS oldest FROM (
            SELECT xact_start AS began, backend_type IS NOT NULL AS seen FROM pg_stat_activity
            WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
            UNION ALL SELECT prepared, true FROM pg_prepared_xacts
        ) writing
    ) began
"""
_OLDEST = """
    SELECT behind, holder FROM (
        SELECT age(backend_xmin) AS behind,
            format('session %s (%s)', pid, coalesce(nullif(application_name, ''), '?')) AS holder
        FROM pg_stat_activity WHERE pid <> pg_backend_pid()
        AND coalesce(datname, current_database()) = current_database()
        AND coalesce(backend_type, '') NOT LIKE 'autovacuum %'
        UNION ALL SELECT age(transaction), format('prepared transaction %s', gid)
        FROM pg_prepared_xacts WHERE database = current_database()
        UNION ALL SELECT age(xmin), format('replication slot %s', slot_name)
        FROM pg_replication_slots
    ) held WHERE behind IS NOT NULL ORDER BY behind DESC LIMIT 1
"""
_CONNECTED = """
    SELECT (SELECT sum(numbackends) FROM pg_stat_database),
        (SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'router %'),
        pg_has_role('pg_read_all_stats', 'USAGE')
"""
_STANDBYS = f"""
    SELECT coalesce(application_name, ''), state, sync_state, {_MS.format("replay_lag")},
        CASE WHEN NOT pg_is_in_recovery()
        THEN pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint END
    FROM pg_stat_replication
"""
_SIZES = """
    SELECT name, sum(pg_total_relation_size(part.relid))::bigint
    FROM unnest($1::text[]) name, pg_partition_tree(name::regclass) part GROUP BY name
"""
_LEDGER = f"SELECT schema, {_MS.format('clock_timestamp()')} FROM ledger"


async def about(tx: Tx) -> DatabaseAbout:
    """The state of the database."""
    version, now = await tx.row(_LEDGER)
    queued, dead = await tx.row(_QUEUE)
    behind, horizon_ms = await tx.row(_FEED)
    oldest = await tx.row(_OLDEST)
    connected, routers, sees_all = await tx.row(_CONNECTED)
    sizes = dict(await tx.all(_SIZES, list(schema.TABLES)))
    days = await partitions.there(tx)
    return DatabaseAbout(
        settings=DatabaseSettings(*await tx.row(_SETTINGS)),
        schema=version,
        now=now,
        bytes=sum(sizes.values()),
        parts={table: sizes[table] for table in partitions.DAYS},
        days=len(days),
        oldest_day_at=days[0] * DAY_MS if days else None,
        queued=queued,
        dead_tuples=dead,
        feed_behind=behind,
        horizon_ms=horizon_ms,
        oldest_xmin_age=oldest[0] if oldest else 0,
        oldest_xmin_of=oldest[1] if oldest else None,
        connected=int(connected),
        routers=routers,
        sees_all=sees_all,
        standbys=tuple([Standby(*row) for row in await tx.all(_STANDBYS)]),
        nodes=await nodes.listed(tx),
        loads=await shares.loads(tx),
    )
