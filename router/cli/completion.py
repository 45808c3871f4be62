"""`router completion`."""

import os

import click

from router.cli.completion_install import SHELLS, install
from router.cli.main import COMPLETE_VARIABLE, cli
from router.errors import UsageError


@click.command()
@click.argument("what", type=click.Choice(("install", *SHELLS)), metavar="install|bash|zsh|fish")
@click.argument("shell", type=click.Choice(SHELLS), required=False, metavar="[SHELL]")
def completion(*, what: str, shell: str | None) -> None:
    """
    Make the tab key complete commands, options, endpoints, events and rules.

    `install` sets it up for your shell, or for SHELL. The others print the script that it keeps.
    """
    if what == "install":
        for line in install(shell, script, os.environ):
            click.echo(line)
    elif shell is not None:
        raise UsageError(f"`router completion {what}` prints a script, for that shell alone")
    else:
        click.echo(script(what), nl=False)


def script(shell: str) -> str:
    """What the shell must read."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"this version of click knows no completion for {shell}")
    maker = kind(cli, {}, "router", COMPLETE_VARIABLE)
    # The template itself: `source()` would look for a bash on this machine and judge its version.
    return f"{maker.source_template % maker.source_vars()}".rstrip("\n") + "\n"
