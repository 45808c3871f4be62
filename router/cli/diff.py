"""`router diff`: what the rules say, then by rule what it did, with a few examples."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from router.cli.generations import read_store, rules_to_read, ruleset_of
from router.cli.options import Options, place_options
from router.cli.output import counted, note, print_exact, timestamp
from router.cli.paging import paged
from router.cli.selection import DELIVERY_STATES, selector_options
from router.config import render_text
from router.errors import ConfigError, NotFound, UsageError
from router.expressions import JSON, encode_json
from router.expressions.changes import Change
from router.legible import cut, visible
from router.model.selector import Criteria
from router.model.store_address import SqliteFile, StoreAddress
from router.operator.known_names import check_names
from router.operator.requests import LOCAL
from router.operator.search import Search
from router.rehearsal.diff import (
    CallChange,
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


EXAMPLES_SHOWN = 3
CHANGES_SHOWN = 8
_VALUE_MAX = 60
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def difference_lines(found: Difference) -> Iterator[str]:
    """All rules; of the effects the first few of each kind."""
    yield f"old  {found.old}"
    yield f"new  {found.new}"
    if found.rules:
        yield from ("", "rules")
    for rule in found.rules:
        yield f"  {_SIGNS[rule.kind]} {rule.rule}  {rule.kind}"
        yield from (f"      {_line(change)}" for change in rule.changes)
    if found.settings:
        yield from ("", "settings", *(f"  {_line(change)}" for change in found.settings))
    yield from ("", _summary(found))
    by_rule: dict[str, list[Effect]] = {}
    for effect in found.effects:
        by_rule.setdefault(effect.rule, []).append(effect)
    for name in sorted(by_rule):
        yield from _rule(name, by_rule[name])


def _summary(found: Difference) -> str:
    touched = len({effect.delivery for effect in found.effects})
    skipped = f", {len(found.skipped)} that no rule sees" if found.skipped else ""
    deliveries, events = counted(found.deliveries, "delivery"), counted(found.events, "event")
    compared = f"{deliveries} ({events}) compared{skipped}"
    if not found.rules and not found.settings and not touched:
        return f"no difference; {compared}"
    return f"{compared}: {touched or 'none'} would differ"


def _rule(name: str, effects: Sequence[Effect]) -> Iterator[str]:
    yield from ("", name)
    for kind in dict.fromkeys((e.kind, e.shadow) for e in effects):
        some = [e for e in effects if (e.kind, e.shadow) == kind]
        where = " in shadow" if kind[1] else ""
        yield f"  {kind[0]}{where}: {counted(len(some), 'event')}"
        yield from chain.from_iterable(map(_example, some[:EXAMPLES_SHOWN]))
        if len(some) > EXAMPLES_SHOWN:
            yield f"    … and {len(some) - EXAMPLES_SHOWN} more: --json lists all"


def _example(effect: Effect) -> Iterator[str]:
    place = f" #{effect.index}" if effect.index else ""
    when = timestamp(effect.received_at)
    yield f"    {effect.delivery}{place}  {visible(effect.event)}  {when}"
    yield from chain.from_iterable(map(_call, effect.calls))


def _call(call: CallChange) -> Iterator[str]:
    if call.kind != "changed":
        yield f"      {_SIGNS[call.kind]} {call.action}  {call.kind}"
        return
    for change in call.changes[:CHANGES_SHOWN]:
        yield f"      {_line(change, f'{call.action}: ')}"
    if len(call.changes) > CHANGES_SHOWN:
        yield f"      … and {len(call.changes) - CHANGES_SHOWN} more places: --json lists them"


def _line(change: Change, prefix: str = "") -> str:
    path = visible(change.path)
    if change.added:
        return f"+ {prefix}{path}: {_short(change.new)}"
    if change.removed:
        return f"- {prefix}{path}: {_short(change.old)}"
    return f"~ {prefix}{path}: {_short(change.old)} → {_short(change.new)}"


def _short(value: JSON) -> str:
    return cut(visible(encode_json(value).decode("utf-8")), _VALUE_MAX)
