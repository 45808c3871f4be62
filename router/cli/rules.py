"""`router rules`."""

import click

from router.cli.operator_access import ask
from router.cli.options import Options, place_options
from router.cli.output import print_json, print_table, states, when
from router.cli.paging import paged
from router.cli.redraw import watched
from router.operator.answers import RuleRow

_COLUMNS = ("rule", "mode", "from", "events", "actions", "jobs")
_COUNTED = ("asked", "matched", "errors", "last matched", "note")


@click.command()
@watched
@paged
@place_options("dev", "store", "admin", "server")
def rules(*, place: Options) -> None:
    """
    The rules, their jobs by state, and how often each was asked and matched.

    Asked are the rules that an event could concern; matched counts shadow matches too. An orphan is
    a rule that the file no longer has but that still has open jobs; they run with the last version
    there was. `router cancel --rule ID` ends those that wait.
    """
    rows = ask(place, lambda questions: questions.rules(), counted="/api/rules", quiet=True).rules
    if place.as_json:
        print_json(rows)
    elif any(row.counted for row in rows):
        print_table((*_COLUMNS, *_COUNTED), ([*_cells(row), *_counted(row)] for row in rows))
    else:
        print_table(_COLUMNS, [_cells(row) for row in rows])


def _cells(row: RuleRow) -> list[str]:
    if row.mode == "orphan":
        return [row.rule, "orphan", "-", "-", "-", states(row.jobs)]
    events = ", ".join(row.events) if row.events else "every event"
    return [
        row.rule,
        row.mode,
        ", ".join(row.sources) if row.sources else "all",
        "(otherwise)" if row.otherwise else events,
        ", ".join(row.actions),
        states(row.jobs),
    ]


def _counted(row: RuleRow) -> list[str]:
    counted = row.counted
    if counted is None:
        return ["-", "-", "-", "-", ""]
    return [
        str(counted.evaluated),
        str(counted.matched + counted.shadowed),
        str(counted.errored),
        when(counted.last_matched_at),
        row.note or "",
    ]
