"""`router show JOB --follow`: a command's output while it runs, from the server that runs it."""

import asyncio
import time

import click

from router.cli.admin import AdminClient
from router.cli.output import visible_block
from router.cli.remote import RemoteOperator
from router.errors import NotFound
from router.model.job import ENDED, Job
from router.store.values import Selector

PAUSE_S = 0.3


def follow(client: AdminClient, job: Job) -> None:
    """Print what each attempt of the job writes until the job has ended, or is gone."""
    after = ""
    server = RemoteOperator(client)
    while job.state not in ENDED:
        written = client.output(job.id, after)
        if written.running:
            after = written.next
            _print(written.stdout, err=False)
            _print(written.stderr, err=True)
        time.sleep(PAUSE_S)
        try:
            [job] = asyncio.run(server.jobs(Selector(ids=(job.id,)))).jobs
        except NotFound:
            return


def _print(text: str, *, err: bool) -> None:
    if text:
        click.echo(visible_block(text), nl=False, err=err)
