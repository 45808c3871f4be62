"""docs/commands.md, made from the table of commands and their options."""

from collections.abc import Iterator

import click

from router.cli.command_table import GROUPS
from router.cli.main import cli
from router.model.selector import ABOUT

_HEAD = """# Commands

`router --help` lists them, and every command takes `-h`. Exit codes: 0 ok, 1 problems found,
2 wrong usage.

## Options that mean the same everywhere

| option | what it says |
|---|---|
"""

_TERMINAL = """
On a terminal times are relative (`3 min ago`), and what does not fit into a line of a table stands
below it. In a pipe and with `--json` times are RFC 3339: each can be pasted behind `--since`. A
list with `--json` is one JSON list, the newest first.

A long answer on a terminal goes through `less`, or the program in `PAGER`; not with `--no-pager` or
where `NO_PAGER` is set. `--watch` draws a list again every two seconds, also with `--server`.

`router completion bash|zsh|fish` prints the script by which the shell completes commands, options,
endpoints, events and rules; `router completion -h` says where each shell reads it.
"""

_COMMON = (
    *("file", "json", "dev", "store", "admin", "server", "no-pager", "watch", "yes", "dry-run"),
    *ABOUT,
)
_MOST = "deliveries"
"""It has most of them."""


def commands_markdown() -> str:
    """The page."""
    return _HEAD + "".join(_common()) + _TERMINAL + "".join(_groups())


def _common() -> Iterator[str]:
    texts = {**_options(_command("replay")), **_options(_command(_MOST))}
    for name in _COMMON:
        option = texts[f"--{name}"]
        metavar = "" if option.is_flag else f" {option.metavar}"
        short = "`-f`, " if name == "file" else ""
        yield f"| {short}`--{name}{metavar}` | {_cell(option.help or '')} |\n"


def _groups() -> Iterator[str]:
    for group, rows in GROUPS.items():
        yield f"\n## {group}\n\n| command | what it does | its own options |\n|---|---|---|\n"
        for name, (_, words) in rows.items():
            yield from _rows((name,), _command(name), words)


def _rows(path: tuple[str, ...], command: click.Command, words: str) -> Iterator[str]:
    is_group = isinstance(command, click.Group)
    if not is_group or command.invoke_without_command:
        named = [_argument(one) for one in command.params if isinstance(one, click.Argument)]
        own = [f"`{name}`" for name in _options(command) if name[2:] not in _COMMON]
        usage = " ".join(("router", *path, *named))
        yield f"| `{_cell(usage)}` | {_cell(words)} | {' '.join(own)} |\n"
    if is_group:
        for name in command.list_commands(click.Context(command)):
            one = command.commands[name]
            yield from _rows((*path, name), one, one.get_short_help_str(200))


def _argument(argument: click.Argument) -> str:
    return argument.make_metavar(click.Context(cli))


def _command(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command


def _options(command: click.Command) -> dict[str, click.Option]:
    return {
        name: one
        for one in command.params
        if isinstance(one, click.Option)
        for name in one.opts[:2]
        if name.startswith("--")
    }


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
