"""`router completion`."""

import click

from router.cli.main import COMPLETE_VARIABLE, cli


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")), metavar="bash|zsh|fish")
def completion(*, shell: str) -> None:
    """
    Print the script by which the tab key completes commands, options, endpoints and rules.

    \b
    bash: router completion bash > ~/.local/share/bash-completion/completions/router
    zsh:  source <(router completion zsh)     in ~/.zshrc, after compinit
    fish: router completion fish > ~/.config/fish/completions/router.fish
    """
    click.echo(script(shell), nl=False)


def script(shell: str) -> str:
    """Return what the shell must read."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"this version of click knows no completion for {shell}")
    maker = kind(cli, {}, "router", COMPLETE_VARIABLE)
    # The template itself: `source()` would look for a bash on this machine and judge its version.
    return f"{maker.source_template % maker.source_vars()}".rstrip("\n") + "\n"
