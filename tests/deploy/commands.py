"""Commands that a file names, as our command line reads them."""

import click

from router.cli.main import cli


def parsed(words: list[str]) -> click.Context:
    """
    The command that these words are, without `router` before them.

    Raises:
        click.UsageError: it has no such option.
    """
    context = click.Context(cli)
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        word, *words = words
        found = command.get_command(context, word)
        assert found is not None, word
        command = found
    return command.make_context(command.name, words, parent=context)


def variables_of(name: str) -> set[str]:
    """The variables that stand in for options of a command."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return {str(p.envvar) for p in command.params if isinstance(p, click.Option) and p.envvar}
