"""`router rules publish`."""

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import click

from router.cli.diff_text import difference_lines
from router.cli.options import Options
from router.cli.output import note, print_answer, timestamp
from router.errors import ConfigError, PublishedMeanwhile, UsageError
from router.model.store_address import SqliteFile
from router.rehearsal.diff import Difference, difference_json, rule_changes, setting_changes

if TYPE_CHECKING:
    from router.config import Loaded
    from router.rules.ruleset import Ruleset
    from router.store.protocol import Store
    from router.store.reads import StoreReads
    from router.store.values import Publication

SHOWN = 10
"""Failed tests that are named."""


class Published(NamedTuple):
    """
    What is in force now, if anything; `difference` from what was, None: there was nothing, or it
    does not compile here.
    """

    now: "Publication | None"
    changed: bool
    difference: Difference | None


def publish_file(place: Options, *, dry_run: bool, no_tests: bool) -> None:
    """
    Check a rules file, compare it with what is in force, publish it, and say so.

    Raises:
        ConfigError: the file is wrong.
        StoreAbsent, StoreRefused, StoreUnavailable: the database is not to be had.
        UsageError: its tests fail, another publication came first, or the store is a file; nothing
            has changed.
    """
    loaded = place.loaded(tests=True, thorough=True)
    ruleset: Ruleset | None = loaded.ruleset
    if ruleset is None:
        raise ConfigError(loaded.diagnostics)
    if not no_tests:
        _prove(place, ruleset, loaded)
    if isinstance(address := ruleset.server.store, SqliteFile):
        raise UsageError(
            f"{address} has one router, which goes by its file; rules are published on a "
            "PostgreSQL database"
        )
    done = asyncio.run((_rehearse if dry_run else _publish)(place, ruleset))
    if done.difference is None:
        note("there are no rules in force that compile here: nothing was compared")
    elif not place.as_json:
        for line in difference_lines(done.difference):
            click.echo(line)
    said = {
        "generation": ruleset.generation,
        "published": done.changed,
        "seq": done.now.seq if done.now else 0,
        "difference": difference_json(done.difference) if done.difference else None,
    }
    print_answer(said, _told(ruleset, done), as_json=place.as_json)


def _told(ruleset: "Ruleset", done: Published) -> str:
    shown, now = ruleset.generation[:12], done.now
    if done.changed and now:
        return f"published {shown} as number {now.seq}"
    if now and now.generation == ruleset.generation:
        return f"{shown} is published already, since {timestamp(now.at)}, by {now.by}"
    return f"{shown} was not published: only a dry run"


def _prove(place: Options, ruleset: "Ruleset", loaded: "Loaded") -> None:
    """Raises UsageError: a test of the file failed."""
    from router.wiring.test_runner import run_tests

    if not loaded.trials:
        return
    results = run_tests(ruleset, loaded.trials, environ=place.environ).results
    failed = [f"{r.trial.name}: {r.failures[0].splitlines()[0]}" for r in results if r.failures]
    if failed:
        lines = "\n  ".join(failed[:SHOWN])
        raise UsageError(
            f"{len(failed)} of {len(results)} tests failed, nothing was published:\n  {lines}"
        )


async def _publish(place: Options, ruleset: "Ruleset") -> Published:
    from router.clock import SystemClock
    from router.wiring.live import generation_of
    from router.wiring.stores import open_store

    clock = SystemClock()
    store = await open_store(ruleset.server.store, clock=clock)
    try:
        newest = await store.reads.published()
        found = await _difference(place, store.reads, newest, ruleset)
        new = _publication(place, ruleset, store.fingerprint_key, clock.now())
        if newest and (newest.generation, newest.local) == (new.generation, new.local):
            return Published(newest, changed=False, difference=found)
        await store.keep_generation(generation_of(ruleset, clock))
        now = await _compare_and_set(store, new, newest)
        return Published(now, changed=True, difference=found)
    finally:
        await store.close()


async def _rehearse(place: Options, ruleset: "Ruleset") -> Published:
    """Nothing is written, not even tables."""
    from router.wiring.stores import open_reader

    reads = await open_reader(ruleset.server.store)
    try:
        newest = await reads.published()
        found = await _difference(place, reads, newest, ruleset)
        return Published(newest, changed=False, difference=found)
    finally:
        await reads.close()


def _publication(place: Options, ruleset: "Ruleset", key: bytes, at: int) -> "Publication":
    """With what the rules need of this machine."""
    from router.store.values import Publication
    from router.wiring.local_parts import local_parts
    from router.wiring.secret_values import values_here
    from router.wiring.stores import node_name

    values, problems = values_here(ruleset, place.environ)
    for name, problem in problems.items():
        note(f"secrets.{name}: {problem}: no router is compared with this machine in it")
    local = local_parts(ruleset, values, key)
    return Publication(0, ruleset.generation, node_name(ruleset.server.store), at, local)


async def _compare_and_set(
    store: "Store", new: "Publication", newest: "Publication | None"
) -> "Publication":
    from router.cli.local_audit import local_line

    after = newest.seq if newest else 0
    try:
        now = await store.publish(
            new.generation, by=new.by, at=new.at, after=after, local=new.local
        )
    except PublishedMeanwhile as error:
        raise UsageError(
            f"{error}; nothing changed: look at it with `router rules publish --dry-run`, then "
            "publish again"
        ) from None
    asked = {"generation": new.generation, "after": after, "seq": now.seq}
    await store.note(local_line("publish", asked))
    return now


async def _difference(
    place: Options, reads: "StoreReads", newest: "Publication | None", ruleset: "Ruleset"
) -> Difference | None:
    """From what is in force; None: there is nothing, or it cannot be read here."""
    from router.wiring.live import read_generation

    kept = await reads.generation(newest.generation) if newest else None
    if kept is None:
        return None
    old = read_generation(kept, path=place.rules, environ=place.environ, dev=False).ruleset
    if old is None:
        return None
    return Difference(
        old=f"generation {kept.id[:16]}",
        new=str(place.rules),
        rules=rule_changes(old, ruleset),
        settings=setting_changes(old, ruleset),
    )
