"""`router completion`."""

import click

from router.cli.main import COMPLETE_VARIABLE, cli

_INSTALL = {
    "bash": 'eval "$(router completion bash)"      # in ~/.bashrc',
    "zsh": 'eval "$(router completion zsh)"       # in ~/.zshrc, after compinit',
    "fish": "router completion fish | source      # in ~/.config/fish/config.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(tuple(_INSTALL)))
def completion(*, shell: str) -> None:
    """Print what makes the tab key complete commands, options, endpoints, events and rules."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"this version of click knows no completion for {shell}")
    maker = kind(cli, {}, "router", COMPLETE_VARIABLE)
    click.echo(f"# to install: {_INSTALL[shell]}")
    # The template itself: `source()` would look for a bash on this machine and judge its version.
    click.echo(maker.source_template % maker.source_vars())
