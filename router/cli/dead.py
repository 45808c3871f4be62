"""`router dead`."""

import click
import msgspec

from router.cli.ledger import read_store
from router.cli.output import print_json, print_table, shortened, when
from router.cli.place import Place, place_options
from router.cli.selection import selector_options
from router.clock import SystemClock
from router.model.job import Job
from router.store.protocol import Selector


@click.command()
@place_options("dev", "store")
@selector_options(states=None, limit=50)
def dead(*, place: Place, selector: Selector) -> None:
    """Jobs that were given up, newest first: `router revive ID` tries one of them again."""
    _, ruleset = place.working()
    wanted = msgspec.structs.replace(selector, state="dead")
    found: tuple[Job, ...] = read_store(
        ruleset.server.store, lambda reader: reader.jobs(wanted), absent=()
    )
    if place.as_json:
        print_json(found)
        return
    short = shortened(job.id for job in found)
    columns = ("ended", "job", "rule/action", "endpoint", "event", "attempts", "reason")
    now = SystemClock().now()
    print_table(columns, [_cells(job, short[job.id], now) for job in found])


def _cells(job: Job, short: str, now: int) -> list[str]:
    return [
        when(job.ended_at, now),
        short,
        f"{job.rule}/{job.action}",
        job.endpoint,
        job.event,
        str(job.attempt),
        job.reason or "-",
    ]
