"""`router rules`."""

import click

from router.cli.operator_access import ask
from router.cli.options import Options, place_options, rules_argument
from router.cli.output import print_json, print_table, states, when
from router.cli.paging import paged
from router.cli.redraw import watched
from router.operator.answers import RuleRow

_COLUMNS = ("rule", "mode", "from", "events", "actions", "jobs")
_COUNTED = ("asked", "matched", "errors", "last matched", "note")


@click.group(invoke_without_command=True)
@watched
@paged
@place_options("dev", "store", "admin", "server")
@click.pass_context
def rules(ctx: click.Context, *, place: Options) -> None:
    """
    The rules, their jobs by state, and how often each was asked and matched.

    Asked are the rules that an event could concern; matched counts shadow matches too. An orphan is
    a rule that the file no longer has but that still has open jobs; they run with the last version
    there was. `router cancel --rule ID` ends those that wait.
    """
    if ctx.invoked_subcommand is not None:
        return
    rows = ask(place, lambda questions: questions.rules(), counted="/api/rules", quiet=True).rules
    if place.as_json:
        print_json(rows)
    elif any(row.counted for row in rows):
        print_table((*_COLUMNS, *_COUNTED), ([*_cells(row), *_counted(row)] for row in rows))
    else:
        print_table(_COLUMNS, [_cells(row) for row in rows])


@rules.command()
@rules_argument
@place_options("store")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--no-tests", is_flag=True, help="Do not run the file's tests first.")
def publish(*, place: Options, dry_run: bool, no_tests: bool) -> None:
    """
    Put a rules file in force on all routers of a PostgreSQL database.

    The file is checked, its tests are run, and it is kept in the database with what it includes and
    with its variables' values here; secrets stay where each router has them. Routers that have
    `server: {rules: published}` make it ready, and it is in force when all that live have done so,
    or a minute later. If somebody else publishes meanwhile, nothing changes and they are named.
    """
    from router.cli.publish import publish_file

    publish_file(place, dry_run=dry_run, no_tests=no_tests)


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
