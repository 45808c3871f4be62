"""`router new plugin`: a plugin that runs, and its test."""

import keyword
import re
from pathlib import Path

import click

from router.cli.output import print_json
from router.config.plugins import installed_as
from router.errors import UsageError
from router.plugin_host.finding import FOLDER

_NAME = re.compile(r"[a-z][a-z0-9_]*")

PLUGIN = '''\
"""What this plugin is for."""

from router.plugin import Context, Event, Fail

# In the rules file, as an action of a rule:
#
#     python: {call: "NAME:run", args: {text: "{{ event }} of {{ endpoint }}"}}


async def run(event: Event, context: Context, *, text: str) -> dict[str, str]:
    """
    Do the work for one event and return JSON.

    It may run more than once for a job: `event.idempotency_key` is the same each time. Raise
    `Retry(after=SECONDS)` of router.plugin to be run again, `Fail(REASON)` to give up.
    """
    if not text:
        raise Fail("there is nothing to say")
    context.logger.info("attempt %d of %s", event.attempt, event.idempotency_key)
    return {"said": text}
'''

TEST = '''\
"""plugins/NAME.py: the function is called as the router calls it."""

import asyncio
import sys
from pathlib import Path

import pytest

from router.plugin import Context, Event, Fail

sys.path.append(str(Path(__file__).parents[1] / "plugins"))

import NAME  # noqa: E402 - found in plugins/, last as in the router


def test_what_it_says() -> None:
    event = Event(name="orders/paid", payload={"id": 1}, idempotency_key="job_1")
    assert asyncio.run(NAME.run(event, Context(), text="hello")) == {"said": "hello"}


def test_nothing_to_say_is_given_up() -> None:
    with pytest.raises(Fail):
        asyncio.run(NAME.run(Event(), Context(), text=""))
'''


def make(name: str, folder: Path, *, as_json: bool) -> None:
    """
    Write plugins/NAME.py and tests/test_NAME.py below the folder of the rules file.

    Raises:
        UsageError: the name cannot be a plugin's, or one of the files is there.
    """
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(f"{name!r} cannot be a plugin's name: small letters, digits and _")
    if taken := installed_as(name, {folder / FOLDER, folder}):
        raise UsageError(f"{name!r} is the name of {taken}, which would be imported instead")
    files = {
        folder / FOLDER / f"{name}.py": PLUGIN,
        folder / "tests" / f"test_{name}.py": TEST,
    }
    for file in files:
        if file.exists():
            raise UsageError(f"{file} is there already")
    try:
        for file, text in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("NAME", name), "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write: {error.strerror}: {error.filename}") from None
    if as_json:
        print_json({"written": [str(file) for file in files]})
    else:
        for file in files:
            click.echo(f"wrote {file}")
        click.echo(f'use it in a rule:  python: {{call: "{name}:run", args: {{text: hello}}}}')
