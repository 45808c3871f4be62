"""`router store info` of a PostgreSQL database, and the routers that share it."""

import asyncio
from collections.abc import Iterator

import click
import msgspec

from router.cli.output import note, print_json, timestamp
from router.legible import size_text, span, visible
from router.model.store_address import PostgresDatabase
from router.operator.node_rows import NodeList, NodeRow, node_rows
from router.operator.times import dates
from router.store.database_about import DatabaseAbout, Standby
from router.wiring.stores import about_database

RIGHTS = "GRANT pg_read_all_stats TO our role, and more of standbys and of other roles is shown"


def show_database(address: PostgresDatabase, *, as_json: bool) -> None:
    """Print it. Raises as `about_database`."""
    found = asyncio.run(about_database(address))
    nodes = node_rows(found.nodes, found.loads, found.now)
    if as_json:
        shown = msgspec.structs.asdict(found)
        del shown["loads"]  # the nodes have them
        print_json(dates({**shown, "nodes": nodes}))
        return
    for name, value in (("store", str(address)), *_database(found), *_nodes(nodes)):
        click.echo(f"{name:<12} {visible(value)}")
    for risk, _ in found.risks():
        note(risk)
    if NodeList(nodes, None).differ:
        note("the routers do not route by the same rules")
    if not found.sees_all and (found.standbys or found.horizon_ms is None):
        note(RIGHTS)


def _database(found: DatabaseAbout) -> Iterator[tuple[str, str]]:
    settings = found.settings
    fsync = "on" if settings.fsync else "off"
    commit = settings.synchronous_commit
    yield "database", f"PostgreSQL {settings.version}, fsync {fsync}, synchronous_commit {commit}"
    parts = ", ".join(f"{table} {size_text(size)}" for table, size in sorted(found.parts.items()))
    yield "size", f"{size_text(found.bytes)}: {parts}"
    yield "partitions", f"{found.days} days since {timestamp(found.oldest_day_at)[:10]}"
    yield "schema", str(found.schema)
    yield "queue", f"{found.queued} open jobs, {found.dead_tuples} dead tuples"
    since = "unknown" if found.horizon_ms is None else span(found.horizon_ms)
    yield "feed", f"{since} behind, {found.feed_behind} transactions"
    by = f", held by {found.oldest_xmin_of}" if found.oldest_xmin_of else ""
    yield "oldest xmin", f"{found.oldest_xmin_age} transactions behind{by}"
    most = settings.connections
    yield "connections", f"{found.connected} of {most}, {found.routers} of them routers'"
    for one in found.standbys:
        yield "standby", _standby(one)
    if not found.standbys:
        yield "standby", "none"


def _standby(one: Standby) -> str:
    words = [one.name, one.state or "?", one.sync or "?"]
    if one.lag_ms is not None:
        words.append(f"{span(one.lag_ms)} behind")
    if one.behind_bytes is not None:
        words.append(f"{size_text(one.behind_bytes)} to replay")
    return ", ".join(words)


def _nodes(rows: tuple[NodeRow, ...]) -> Iterator[tuple[str, str]]:
    for row in rows:
        beat = "gone, beat" if row.gone else "beat"
        skew = f"clock {row.skew_ms / 1000:+.1f} s"
        told = f"{beat} {span(row.beat_age_ms)} ago, {skew}, rules {row.generation[:12]}"
        said = f"version {row.version}, {row.running} running"
        yield "node", f"{row.name} #{row.number}: {told}, {said}"
        if row.unready and not row.gone:
            yield "", f"not ready: {row.unready}"
        for share in row.shares:
            rate = "" if share.rate is None else f", {share.rate:.3g} a second"
            yield "", f"{share.target}: {share.running} of {share.concurrency}{rate}"
