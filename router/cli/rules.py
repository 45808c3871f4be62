"""`router rules`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from router.cli.ledger import read_store
from router.cli.output import print_json, print_table, states
from router.cli.place import Place, place_options
from router.model.job import OPEN, JobState
from router.rules.ruleset import Ruleset

Counts = Mapping[str, Mapping[JobState, int]]


@click.command()
@place_options("dev", "store")
def rules(*, place: Place) -> None:
    """
    The rules, and their jobs by state.

    An orphan is a rule that the file no longer has but that still has open jobs; they run with
    the last version there was. `router cancel --rule ID` ends those that wait.
    """
    _, ruleset = place.working()
    store = ruleset.server.store
    counts: Counts = {}
    if Path(store).exists():  # rules without a store are no reason for a word
        counts = read_store(store, lambda reader: reader.counts(), absent={})
    rows = [*_known(ruleset, counts), *_orphans(ruleset, counts)]
    if place.as_json:
        print_json(rows)
        return
    print_table(("rule", "mode", "from", "events", "actions", "jobs"), [_cells(r) for r in rows])


def _known(ruleset: Ruleset, counts: Counts) -> list[dict[str, Any]]:
    return [
        {
            "rule": rule.id,
            "about": rule.about,
            "mode": rule.mode,
            "from": None if rule.sources is None else list(rule.sources),
            "events": None if rule.events is None else list(rule.events),
            "otherwise": rule.otherwise,
            "actions": [action.id for action in rule.actions],
            "jobs": dict(counts.get(rule.id, {})),
        }
        for rule in ruleset.rules
    ]


def _orphans(ruleset: Ruleset, counts: Counts) -> list[dict[str, Any]]:
    present = {rule.id for rule in ruleset.rules}
    return [
        {"rule": rule, "mode": "orphan", "jobs": dict(jobs)}
        for rule, jobs in sorted(counts.items())
        if rule not in present and any(n for state, n in jobs.items() if state in OPEN)
    ]


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
