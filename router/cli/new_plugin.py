"""`router new plugin`: a plugin that runs, and its test."""

import keyword
import re
from pathlib import Path

import click

from router.cli.output import printed
from router.cli.templates import template
from router.config.plugins import installed_as
from router.errors import UsageError
from router.plugin_host.finding import FOLDER

_NAME = re.compile(r"[a-z][a-z0-9_]*")


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
        folder / FOLDER / f"{name}.py": template("plugin.txt"),
        folder / "tests" / f"test_{name}.py": template("plugin_test.txt"),
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
    if not printed({"written": [str(file) for file in files]}, as_json=as_json):
        for file in files:
            click.echo(f"wrote {file}")
        click.echo(f'use it in a rule:  python: {{call: "{name}:run", args: {{text: hello}}}}')
