"""`router rules`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from router.cli.ledger import read_store
from router.cli.output import print_json, print_table, states, when
from router.cli.place import Place, place_options
from router.clock import SystemClock
from router.model.job import OPEN, JobState
from router.rules.ruleset import Ruleset
from router.store.upkeep import RuleCount
from router.web.admin.told import note_of

if TYPE_CHECKING:
    from router.store.reader import SqliteReader

_COLUMNS = ("rule", "mode", "from", "events", "actions", "jobs")
_COUNTED = ("asked", "matched", "errors", "last matched", "note")


class Ledger(msgspec.Struct, frozen=True):
    """What the store knows of rules: their jobs by state, and what was counted of them."""

    jobs: Mapping[str, Mapping[JobState, int]] = {}
    counts: Mapping[str, RuleCount] = {}


@click.command()
@place_options("dev", "store")
def rules(*, place: Place) -> None:
    """
    The rules, their jobs by state, and how often each was asked and matched.

    Asked are the rules that an event could concern; matched counts shadow matches too. An orphan is
    a rule that the file no longer has but that still has open jobs; they run with the last version
    there was. `router cancel --rule ID` ends those that wait.
    """
    _, ruleset = place.working()
    store, now = ruleset.server.store, SystemClock().now()
    ledger = Ledger()
    if Path(store).exists():  # rules without a store are no reason for a word
        ledger = read_store(store, _read, absent=ledger)
    rows = [*_known(ruleset, ledger, now), *_orphans(ruleset, ledger)]
    if place.as_json:
        print_json(rows)
    elif ledger.counts:
        cells = [[*_cells(r), *_counted(r["counted"], r["note"], now)] for r in rows]
        print_table((*_COLUMNS, *_COUNTED), cells)
    else:
        print_table(_COLUMNS, [_cells(r) for r in rows])


async def _read(reader: "SqliteReader") -> Ledger:
    return Ledger(await reader.counts(), await reader.rule_counts())


def _known(ruleset: Ruleset, ledger: Ledger, now: int) -> list[dict[str, Any]]:
    return [
        {
            "rule": rule.id,
            "about": rule.about,
            "mode": rule.mode,
            "from": None if rule.sources is None else list(rule.sources),
            "events": None if rule.events is None else list(rule.events),
            "otherwise": rule.otherwise,
            "actions": [action.id for action in rule.actions],
            "jobs": dict(ledger.jobs.get(rule.id, {})),
            "counted": _values(ledger.counts.get(rule.id)),
            "note": note_of(rule, ledger.counts.get(rule.id), now),
        }
        for rule in ruleset.rules
    ]


def _orphans(ruleset: Ruleset, ledger: Ledger) -> list[dict[str, Any]]:
    present = {rule.id for rule in ruleset.rules}
    return [
        {
            "rule": rule,
            "mode": "orphan",
            "jobs": dict(jobs),
            "counted": _values(ledger.counts.get(rule)),
            "note": None,
        }
        for rule, jobs in sorted(ledger.jobs.items())
        if rule not in present and any(n for state, n in jobs.items() if state in OPEN)
    ]


def _values(count: RuleCount | None) -> dict[str, Any] | None:
    if count is None:
        return None
    return {
        "since": count.counted_since,
        "evaluated": count.evaluated,
        "matched": count.matched,
        "errored": count.errored,
        "shadowed": count.shadowed,
        "last_matched_at": count.last_matched_at,
    }


def _cells(row: dict[str, Any]) -> list[str]:
    if row["mode"] == "orphan":
        return [row["rule"], "orphan", "-", "-", "-", states(row["jobs"])]
    events = ", ".join(row["events"]) if row["events"] else "every event"
    return [
        row["rule"],
        row["mode"],
        ", ".join(row["from"]) if row["from"] else "all",
        "(otherwise)" if row["otherwise"] else events,
        ", ".join(row["actions"]),
        states(row["jobs"]),
    ]


def _counted(counted: dict[str, Any] | None, note: str | None, now: int) -> list[str]:
    if counted is None:
        return ["-", "-", "-", "-", ""]
    return [
        str(counted["evaluated"]),
        str(counted["matched"] + counted["shadowed"]),
        str(counted["errored"]),
        when(counted["last_matched_at"], now),
        note or "",
    ]
