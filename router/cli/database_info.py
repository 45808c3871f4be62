"""`router store info` of a PostgreSQL database, and the routers that share it."""

import asyncio

import click

from router.cli.output import note, print_json
from router.legible import size_text, visible
from router.model.store_address import PostgresDatabase
from router.store.values import DatabaseAbout, NodeSeen
from router.wiring.stores import about_database


def show_database(address: PostgresDatabase, *, as_json: bool) -> None:
    """Print it. Raises as `about_database`."""
    found = asyncio.run(about_database(address))
    if as_json:
        print_json(found)
        return
    standbys = [f"{one.name} {one.state or '?'} {one.sync or '?'}" for one in found.standbys]
    lasts = found.oldest_transaction_ms / 1000
    for name, value in (
        ("store", str(address)),
        ("database", _database(found)),
        ("size", f"{size_text(found.bytes)}, partitions of {found.days} days"),
        ("schema", str(found.schema)),
        ("queue", f"{found.queued} open jobs, {found.dead_tuples} dead tuples"),
        ("oldest", f"transaction of {lasts:.1f} s, xmin {found.oldest_xmin_age} behind"),
        ("standbys", ", ".join(standbys) or "none"),
        *(("node", _node(one, found.now)) for one in found.nodes),
    ):
        click.echo(f"{name:<12} {visible(value)}")
    for risk, _ in found.risks():
        note(risk)
    if len({one.card.generation for one in found.nodes if not one.gone}) > 1:
        note("the routers do not route by the same rules")


def _database(found: DatabaseAbout) -> str:
    fsync = "on" if found.fsync else "off"
    commit = found.synchronous_commit
    return f"PostgreSQL {found.version}, fsync {fsync}, synchronous_commit {commit}"


def _node(one: NodeSeen, now: int) -> str:
    card, age = one.card, (now - one.last_beat_at) / 1000
    state = "gone, " if one.gone else ""
    where = card.admin or "no admin address"
    return (
        f"{card.name} #{one.number}: {state}beat {age:.1f} s ago, rules {card.generation[:12]}, "
        f"version {card.version}, {where}"
    )
