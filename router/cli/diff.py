"""`router diff`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from router.cli.diff_text import difference_lines
from router.cli.generations import rules_to_read, ruleset_of
from router.cli.open_store import read_store
from router.cli.options import Options, place_options
from router.cli.output import counted, note, print_exact
from router.cli.paging import paged
from router.cli.selection import DELIVERY_STATES, selector_options
from router.config import render_text
from router.errors import ConfigError, NotFound, UsageError
from router.model.selector import Criteria
from router.model.store_address import SqliteFile, StoreAddress
from router.operator.known_names import check_names
from router.operator.requests import LOCAL
from router.operator.search import Search
from router.rehearsal.diff import (
    Comparison,
    Difference,
    Effect,
    Skipped,
    difference_json,
    rule_changes,
    setting_changes,
)
from router.rules.ruleset import Ruleset
from router.store.values import Generation, Selector
from router.wiring.rules import DEV_STORE
from router.wiring.stores import exists

if TYPE_CHECKING:
    from router.store.reads import StoreReads

STORED = "stored"
LAST = 500


@click.command()
@paged
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--last",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help=f"Compare with this many of the newest deliveries.  [default: {LAST}]",
)
@place_options("dev", "store")
@selector_options(states=DELIVERY_STATES, limit=LAST)
@click.pass_context
def diff(
    ctx: click.Context, *, place: Options, selector: Criteria, old: str, new: str, last: int | None
) -> None:
    """
    What a change of the rules would change, for deliveries that have come.

    OLD and NEW are rules files, generations (8 characters or more of one, as `show` prints it), or
    the word `stored`: the rules that decided the newest delivery. The store is --store's, else that
    of the newer file. It is only read, and no secret is needed. The code is 1 if anything differs.
    """
    if last is not None:
        selector = msgspec.structs.replace(selector, limit=last)
    try:
        found = _difference(place, old, new, Selector.of(selector))
    except ConfigError as error:
        click.echo(render_text(error.diagnostics), err=True)
        ctx.exit(2)  # 1 would mean that they differ
    except NotFound as error:
        raise UsageError(str(error)) from None
    if place.as_json:
        print_exact(difference_json(found))
    else:
        for line in difference_lines(found):
            click.echo(line)
    if found.differs:
        ctx.exit(1)


def _difference(place: Options, old: str, new: str, selector: Selector) -> Difference:
    files = {
        name: msgspec.structs.replace(place, rules=Path(name)).ruleset()
        for name in (old, new)
        if Path(name).exists() or name.endswith((".yaml", ".yml")) or "/" in name
    }
    store = _store(place, [files[name] for name in (new, old) if name in files])
    before, after = (files.get(name) or _kept(place, store, name) for name in (old, new))
    difference = Difference(
        old=_shown(old, before, files),
        new=_shown(new, after, files),
        rules=rule_changes(before, after),
        settings=setting_changes(before, after),
    )
    if store is None or not exists(store):
        note("there is no store to take deliveries from: only the rules were compared")
        return difference
    return read_store(
        store,
        lambda reader: _compared(reader, Comparison(before, after), difference, selector),
        absent=difference,
    )


async def _compared(
    reader: "StoreReads", comparison: Comparison, difference: Difference, selector: Selector
) -> Difference:
    effects: list[Effect] = []
    skipped: list[Skipped] = []
    compared = events = redacted = 0
    await check_names(selector, comparison.new, reader)
    async for stored in Search(reader, selector, comparison.new, LOCAL, jobs=False).newest():
        if (state := stored.delivery.state) not in ("routed", "unmatched"):
            skipped.append(Skipped(stored.delivery.id, state))
            continue
        redacted += stored.delivery.redacted is not None
        indexes = frozenset(event.index for event in stored.events)
        compared, events = compared + 1, events + len(indexes)
        effects += comparison.effects(stored.delivery, indexes)
    if redacted:
        note(f"{counted(redacted, 'delivery')} redacted: compared without what was taken out")
    return msgspec.structs.replace(
        difference,
        effects=tuple(effects),
        skipped=tuple(skipped),
        deliveries=compared,
        events=events,
    )


# -- what is compared


def _shown(name: str, ruleset: Ruleset, files: dict[str, Ruleset]) -> str:
    return name if name in files else f"generation {ruleset.generation[:16]}"


def _store(place: Options, named: list[Ruleset]) -> StoreAddress | None:
    """
    The store to read: that of the option, of a file named, or of the rules file.

    Raises:
        UsageError: there is no rules file that could name one.
    """
    if not named:
        return rules_to_read(place)[1].server.store
    stores = [ruleset.server.store for ruleset in named]
    if place.store is None:  # perhaps only a `--dev` server has worked
        stores.append(SqliteFile(str(Path(named[0].folder) / DEV_STORE)))
    return next(filter(exists, stores), None)


def _kept(place: Options, store: StoreAddress | None, name: str) -> Ruleset:
    """
    A generation of the store, as rules.

    Raises:
        NotFound: there is none, or it cannot be read any more.
    """
    if store is None or not exists(store):
        raise NotFound(f"{name!r} is no file, and there is no store to have a generation of it")

    async def reading(reader: "StoreReads") -> Generation | None:
        if name not in (STORED, "live"):
            return await reader.generation(name)
        newest = await reader.deliveries(Selector(limit=1))
        record = await reader.delivery(newest[0].id) if newest else None
        return None if record is None else await reader.generation(record.delivery.generation)

    kept = read_store(store, reading, absent=None)
    if kept is None:
        raise NotFound(
            f"{name!r} is neither a file nor a generation that {store} has; "
            "write a path, 8 characters of a generation or more, or `stored`"
        )
    return ruleset_of(kept, place)
