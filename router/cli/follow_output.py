"""`router show JOB --follow`: a command's output while it runs, from the server that runs it."""

import time

import click

from router.cli.admin import AdminClient
from router.cli.output import visible_block
from router.cli.records import Records
from router.model.job import ENDED, Job
from router.store.values import Selector

PAUSE_S = 0.3


def follow(door: AdminClient, records: Records, job: Job) -> None:
    """Print what each attempt of the job writes until the job has ended."""
    after = ""
    while job.state not in ENDED:
        answer = door.output(job.id, after)
        if answer.get("running"):
            after = str(answer["next"])
            _print(str(answer["stdout"]), err=False)
            _print(str(answer["stderr"]), err=True)
        time.sleep(PAUSE_S)
        found = records.jobs(Selector(ids=(job.id,)))
        if not found:
            return  # removed meanwhile: it had ended
        [job] = found


def _print(text: str, *, err: bool) -> None:
    if text:
        click.echo(visible_block(text), nl=False, err=err)
