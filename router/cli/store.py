"""`router store`: copies of the store, retention now, migrations, a look."""

import asyncio
import os
import pwd
import random
import secrets
import socket
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from router.cli.admin import AdminClient
from router.cli.consent import Consent, consent_options, refuse_silence
from router.cli.generations import rules_to_read
from router.cli.no_server import NoServer
from router.cli.options import Options, place_options
from router.cli.output import (
    aged,
    counted,
    note,
    print_answer,
    printed,
    states,
    timestamp,
)
from router.cli.remote import RemoteOperator
from router.errors import ConfigError, NotFound, RouterError, UsageError
from router.legible import size_text
from router.model.ids import Ids
from router.model.operations import Audit
from router.operator.requests import LOCAL, BackupNote, PruneRequest

if TYPE_CHECKING:
    from router.model.store_address import PostgresDatabase, SqliteFile, StoreAddress
    from router.operator.answers import PruneProgress
    from router.store.sqlite.copying import Copied, Progress

_FILE = click.Path(dir_okay=False, path_type=Path)
_BACKUP = "its backups are PostgreSQL's own, made by pg_dump or pg_basebackup"


@click.group()
def store() -> None:
    """The store: back it up while the server runs, restore, prune, migrate, look at it."""


@store.command()
@click.argument("destination", metavar="DEST", type=click.Path(path_type=Path))
@place_options("dev", "store")
@click.option("--force", is_flag=True, help="Overwrite DEST, if it exists.")
def backup(*, place: Options, destination: Path, force: bool) -> None:
    """
    Copy the store into one file, whether a server runs or not; it goes on as ever meanwhile.

    The copy holds every delivery that was acknowledged before it began. It is synced and checked
    before it gets its name, and readable by its owner only.
    """
    from router.store.sqlite.copying import backup

    began = time.monotonic()
    store = _file_of(place, _BACKUP)
    done = backup(store, destination.absolute(), force=force, progress=_progress())
    seconds = time.monotonic() - began
    _note_backup(place, BackupNote(done.path, done.bytes))
    print_answer(
        {**msgspec.structs.asdict(done), "seconds": round(seconds, 3)},
        f"{destination}: {size_text(done.bytes)}, schema {done.schema}, {seconds:.1f} s, checked",
        as_json=place.as_json,
    )


@store.command()
@click.argument("source", metavar="SRC", type=_FILE)
@place_options("dev", "store")
@consent_options
def restore(*, place: Options, source: Path, consent: Consent) -> None:
    """
    Put a backup in the store's place; only while no server runs. The old store is kept beside it.

    What came after the backup is not in it: those deliveries are gone and unknown, so senders that
    repeat them are accepted anew. Jobs that were open then run at the next start, even if they
    have run since, with the same Idempotency-Key.
    """
    from router.store.sqlite.copying import restore

    store = _file_of(place, _BACKUP)
    if consent.dry_run:
        plan = {"path": str(store), "source": str(source)}
        print_answer(plan, f"{source} would take the place of {store}", as_json=place.as_json)
        return
    if store.exists() and not consent.yes:
        refuse_silence(quiet=place.as_json)
        click.confirm(f"Put {source} in the place of {store}, which is kept?", abort=True)
    done = restore(
        source.absolute(),
        store,
        stamp=time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()),
        audit=local_line("restore", {"path": str(source.absolute())}),
        progress=_progress(),
    )
    if not printed(msgspec.structs.asdict(done), as_json=place.as_json):
        _say_restored(done)


def _note_backup(place: Options, made: BackupNote) -> None:
    """A line in the audit: by the server, or in the store itself. The backup is made already."""
    from router.store.sqlite.outside import note_audit

    try:
        try:
            with AdminClient.of(place) as client:
                asyncio.run(RemoteOperator(client).backed_up(made))
        except (NoServer, ConfigError, UsageError):  # none runs, or nobody knows where
            note_audit(_file_of(place, _BACKUP), local_line("backup", msgspec.to_builtins(made)))
    except (click.ClickException, RouterError) as error:
        why = error.message if isinstance(error, click.ClickException) else str(error)
        note(f"no line in the audit: {why}")


def _say_restored(done: "Copied") -> None:
    from router.store.sqlite.outside import about

    found = about(Path(done.path))
    deliveries = counted(found.deliveries, "delivery")
    click.echo(f"{done.path}: {size_text(done.bytes)}, {deliveries}, checked")
    if done.kept is not None:
        note(f"the store that was there is kept: {done.kept}")
    note(f"its newest delivery is of {timestamp(found.newest_at)}: ask senders for what came later")
    open_jobs = sum(found.jobs.get(s, 0) for s in ("available", "retryable", "waiting", "running"))
    if open_jobs:
        note(
            f"{counted(open_jobs, 'job')} open then: they run at the next `router serve`, even if "
            "they have run since; to end some first: `router serve --hold`, then `router cancel`"
        )


@store.command("copy")
@click.argument("source", metavar="SOURCE")
@click.argument("target", metavar="TARGET", envvar="ROUTER_STORE")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
@click.pass_context
def copy_to_database(ctx: click.Context, *, source: str, target: str, as_json: bool) -> None:
    """
    Copy the ledger sqlite:FILE into the empty database postgresql://…, while no server runs.

    Cut off at any moment it goes on where it was when it is asked for again. At the end counts and
    digests of all tables are compared; until they are the same no router works on the database.
    TARGET may be left out where ROUTER_STORE has it.
    """
    from router.clock import SystemClock
    from router.wiring.stores import copy_store

    file, database = _moved_between(source, target)
    audit = local_line("copy", {"path": file.path})
    moved = asyncio.run(
        copy_store(file, database, clock=SystemClock(), audit=audit, show=_progress())
    )
    if not printed(moved, as_json=as_json):
        for table in moved.tables:
            differs = "" if table.same else f"  DIFFERS: {table.copied_rows}  {table.copied_digest}"
            click.echo(f"{table.table:<17} {table.rows:>10}  {table.digest}{differs}")
    for row in moved.left_out:
        note(f"left out, as it cannot be read: {row.table} {row.row} ({row.why})")
    if different := [table.table for table in moved.tables if not table.same]:
        note(f"not the same on both sides: {', '.join(different)}")
    ctx.exit(1 if different or moved.left_out else 0)


def _moved_between(source: str, target: str) -> "tuple[SqliteFile, PostgresDatabase]":
    from router.model.store_address import PostgresDatabase, SqliteFile, store_address

    file, database = store_address(source, Path.cwd()), store_address(target, Path.cwd())
    if not isinstance(file, SqliteFile):
        raise UsageError("a ledger goes from SQLite to PostgreSQL; there is no way back")
    if not isinstance(database, PostgresDatabase):
        raise UsageError("TARGET is a file: `router store backup` copies one file into another")
    return file, database


@store.command()
@place_options("dev", "store", "admin", "server")
@click.option(
    "--older-than",
    metavar="AGE",
    help="Also every finished delivery received longer ago than this: 12h, 3d.",
)
@click.option("--dry-run", is_flag=True, help="Count, remove nothing.")
def prune(*, place: Options, older_than: str | None, dry_run: bool) -> None:
    """
    Remove now what `retention` lets go, as the server does by itself in small steps.

    Deliveries with open jobs and living dedupe keys always stay. The file does not shrink: new
    deliveries use the freed space.
    """
    age = _age(older_than)
    answer = _prunable(place, age) if dry_run else asyncio.run(_pruned(place, PruneRequest(age)))
    deliveries = counted(answer["deliveries"], "delivery")
    keys = counted(answer["keys"], "expired key")
    verb = "would be removed" if dry_run else "removed"
    text = f"{deliveries} and {keys} {verb}"
    print_answer({**answer, "dry_run": dry_run}, text, as_json=place.as_json)


def _age(text: str | None) -> int | None:
    from router.model.measures import duration_ms

    if text is None:
        return None
    try:
        return duration_ms(text)
    except ValueError as error:
        raise UsageError(f"--older-than: {error}") from None


def _prunable(place: Options, age: int | None) -> dict[str, Any]:
    from router.operator.retention import retain
    from router.wiring.stores import open_reader

    _, ruleset = rules_to_read(place)
    now = time.time_ns() // 1_000_000
    limits = retain(ruleset, now, finished_before=None if age is None else now - age)

    async def count() -> tuple[int, int]:
        reader = await open_reader(ruleset.server.store)
        try:
            return await reader.removable(limits, now)
        finally:
            await reader.close()

    deliveries, keys = asyncio.run(count())
    return {"deliveries": deliveries, "keys": keys}


async def _pruned(place: Options, request: PruneRequest) -> dict[str, Any]:
    """By the server, else on the store under its lock; a piece at a time: no request takes long."""
    from router.clock import SystemClock
    from router.operator import retention
    from router.wiring.stores import exists, open_store

    with AdminClient.of(place) as client:
        if place.server is not None or client.is_there():
            return await _all_pieces(lambda: RemoteOperator(client).prune(request))
    (_, ruleset), clock = place.working(), SystemClock()
    if not await asyncio.to_thread(exists, ruleset.server.store):
        raise NotFound(f"nothing has been received yet: there is no store {ruleset.server.store}")
    store = await open_store(ruleset.server.store, clock=clock)
    try:
        now, age = clock.ledger(), request.older_than
        limits = retention.retain(ruleset, now, finished_before=None if age is None else now - age)
        found = await _all_pieces(lambda: retention.prune(store, limits, clock=clock))
        line = local_line("prune", msgspec.to_builtins(request))
        await store.note(msgspec.structs.replace(line, count=found["deliveries"]))
        return found
    finally:
        await store.close()


async def _all_pieces(prune: Callable[[], Awaitable["PruneProgress"]]) -> dict[str, Any]:
    total = Counter({"deliveries": 0, "keys": 0})
    while True:
        done = await prune()
        total.update(deliveries=done.deliveries, keys=done.keys)
        if not done.more:
            return dict(total)


@store.command()
@place_options("dev", "store")
def migrate(*, place: Options) -> None:
    """Say whether the store has this router's schema; no other one was released."""
    from router.cli.version import schema_number
    from router.model.store_address import PostgresDatabase
    from router.wiring.stores import open_reader

    async def look() -> None:
        await (await open_reader(address)).close()

    address = _address(place)
    asyncio.run(look())
    schema = schema_number("postgres" if isinstance(address, PostgresDatabase) else "sqlite")
    text = f"{address} has schema {schema}, as this router needs"
    print_answer({"schema": schema}, text, as_json=place.as_json)


@store.command()
@place_options("dev", "store")
def info(*, place: Options) -> None:
    """Where the store is, how large, of which schema, what it holds, and which routers share it."""
    from router.cli.database_info import show_database
    from router.model.store_address import PostgresDatabase
    from router.store.sqlite.outside import about

    if isinstance(address := _address(place), PostgresDatabase):
        show_database(address, as_json=place.as_json)
        return
    found = about(Path(address.path))
    if printed(found, as_json=place.as_json):
        return
    for name, value in (
        ("store", found.path),
        ("size", f"{size_text(found.bytes)}, {size_text(found.free_bytes)} of it free"),
        ("journal", size_text(found.journal_bytes)),
        ("schema", str(found.schema)),
        ("deliveries", f"{found.deliveries}, the newest of {aged(found.newest_at)}"),
        ("dedupe keys", str(found.keys)),
        ("jobs", states(found.jobs)),
        ("oldest due", aged(found.oldest_due_at)),
    ):
        click.echo(f"{name:<12} {value}")


def _file_of(place: Options, otherwise: str) -> Path:
    """
    The store's file; a rules file that is wrong hinders nobody who names it by --store.

    Raises:
        StoreRefused: it is a database, for which `otherwise` says what to do.
    """
    from router.wiring.stores import sqlite_path

    return sqlite_path(_address(place), otherwise)


def _address(place: Options) -> "StoreAddress":
    from router.model.store_address import store_address

    if place.store is not None:
        return store_address(place.store, Path.cwd())
    return place.working()[1].server.store


def _progress() -> "Progress":
    """Shows a person how much is copied; a pipe gets nothing."""
    shows = sys.stderr.isatty()

    def show(left: int, pages: int) -> None:
        if shows and pages:
            click.echo(f"\r{100 - 100 * left // pages:3d} % copied", err=True, nl=not left)

    return show


def local_line(verb: str, asked: dict[str, Any]) -> Audit:
    """A line of now, by whoever runs this command."""
    now = time.time_ns() // 1_000_000
    ids = Ids(random.Random(secrets.randbits(128)))  # noqa: S311 - an id, not a secret
    user = str(os.getuid())
    with suppress(KeyError):  # a container's user may have no name
        user = pwd.getpwuid(os.getuid()).pw_name
    peer = f"{user}@{socket.gethostname()}"
    return Audit(ids.new("aud", now), now, LOCAL.who, verb, asked, peer=peer, way=LOCAL.way)
