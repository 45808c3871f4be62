"""`router dead`: why jobs died, and which."""

import click
import msgspec

from router.cli.operator_access import ask, note_examined
from router.cli.options import Options, place_options, same_place
from router.cli.output import dates, note, print_list, shortened, when
from router.cli.paging import paged
from router.cli.redraw import watched
from router.cli.selection import selector_options
from router.model.job import Job
from router.model.operations import Cause
from router.model.selector import Criteria
from router.store.values import Selector

LIMIT = 50


@click.command()
@watched
@paged
@place_options("dev", "store", "admin", "server")
@selector_options(states=None, limit=None)
@click.option("--list", "listed", is_flag=True, help=f"Each job, the newest {LIMIT}, or --limit.")
def dead(*, place: Options, selector: Criteria, listed: bool) -> None:
    """
    Jobs that were given up, by cause: the same action and target, the same words but for ids and
    numbers. `router revive --cause KEY` tries exactly these again.
    """
    wanted = msgspec.structs.replace(Selector.of(selector), state="dead")
    if listed:
        _show_list(place, wanted)
    else:
        _show_causes(place, wanted)


# -- by cause


def _show_causes(place: Options, wanted: Selector) -> None:
    answer = ask(place, lambda questions: questions.dead(wanted))
    note_examined(answer)
    found = answer.causes
    if found and not place.as_json:  # before the list: behind a pipe it would follow the prompt
        here = same_place()
        again, each = f"{reviving(found[0])}{here}", f"router dead --list{here}"
        note(f"again, for instance: `{again}`; each of them: `{each}`")
    print_list(
        [{**dates(msgspec.structs.asdict(c)), "revive": reviving(c)} for c in found],
        ("jobs", "last", "first", "rule/action", "target", "cause", "key", "job"),
        map(_cause_cells, found),
        as_json=place.as_json,
    )


def reviving(cause: Cause) -> str:
    """The command that tries exactly these jobs again; a replay would leave them dead."""
    return f"router revive --cause {cause.key}"


def _cause_cells(cause: Cause) -> list[str]:
    return [
        str(cause.count),
        when(cause.last_at),
        when(cause.first_at),
        f"{cause.rule}/{cause.action}",
        cause.target,
        cause.reason or "-",
        cause.key,
        cause.examples[0],
    ]


# -- one by one


def _show_list(place: Options, wanted: Selector) -> None:
    wanted = msgspec.structs.replace(wanted, limit=wanted.limit or LIMIT)
    answer = ask(place, lambda questions: questions.jobs(wanted))
    note_examined(answer)
    short = shortened(job.id for job in answer.jobs)
    print_list(
        answer.jobs,
        ("ended", "job", "rule/action", "endpoint", "event", "attempts", "reason"),
        (_cells(job, short[job.id]) for job in answer.jobs),
        as_json=place.as_json,
    )


def _cells(job: Job, short: str) -> list[str]:
    return [
        when(job.ended_at),
        short,
        f"{job.rule}/{job.action}",
        job.endpoint,
        job.event,
        str(job.attempt),
        job.reason or "-",
    ]
