"""`python -m tests.models`: the models of several routers, and their mutants; 1 if one is wrong."""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.models.checking import all_checked


def main() -> int:
    """Print a line for each."""
    if missing := [tool for tool in ("spin", "cc") if shutil.which(tool) is None]:
        click.echo(f"NOT CHECKED: {' and '.join(missing)} is not installed")
        return 2
    wrong = 0
    with TemporaryDirectory() as folder:
        for one in all_checked(Path(folder)):
            name = one.model if one.without is None else f"{one.model} without {one.without}"
            said = "holds" if one.violated is None else f"breaks {one.violated}"
            click.echo(f"{'WRONG' if one.wrong else 'ok':6}{name:28}{one.states:9,} states  {said}")
            wrong += one.wrong
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
