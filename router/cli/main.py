"""The `router` command: its subcommands in groups, and the one place where errors become words."""

import gc
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from keyword import iskeyword

import click
from click.shell_completion import CompletionItem

from router.cli.command_table import COMMANDS, GROUPS
from router.errors import ConfigError, RouterError, SecretMissing, UsageError

DEBUG_VARIABLE = "ROUTER_DEBUG"
COMPLETE_VARIABLE = "_ROUTER_COMPLETE"
"""Set by the shell's completion script: say what may stand here instead of running anything."""


class LazyGroup(click.Group):
    """Imports a command's module only when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order of the table: the order in which people meet them."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        attribute = cmd_name.replace("-", "_") + "_" * iskeyword(cmd_name)
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}.{cmd_name} is not a command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but an unknown name is answered with the right one."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from router.suggest import did_you_mean

            hint = did_you_mean(name, COMMANDS) or "`router -h` lists them all"
            raise UsageError(f"there is no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """From the table too: a key press imports no command but the one it is about."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=words)
            for name, (_, words) in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """From the table, so that `--help` imports no command."""
        width = max(map(len, COMMANDS))  # one column of words through all groups
        for group, rows in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl(
                    [(name.ljust(width), words) for name, (_, words) in rows.items()]
                )


@click.command(
    cls=LazyGroup,
    invoke_without_command=True,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every command takes -h. Exit codes: 0 ok, 1 problems found, 2 wrong usage.",
)
@click.option("--version", is_flag=True, help="Show the version, its commit and store schemas.")
@click.option("--json", "as_json", is_flag=True, help="The version in JSON.")
@click.pass_context
def cli(context: click.Context, *, version: bool, as_json: bool) -> None:
    """Verify webhooks, drop duplicates, store them, then act by the rules of one file."""
    if version:
        from router.cli.version import print_version

        print_version(as_json=as_json)
        context.exit()
    if as_json or context.invoked_subcommand is None:
        raise UsageError("a command comes first: `router COMMAND --json`; `router -h` lists them")


def main() -> None:
    """The entry point of the `router` script."""
    instruction = os.environ.get(COMPLETE_VARIABLE)
    if instruction:
        sys.exit(complete(instruction))
    code = run(sys.argv[1:], os.environ)
    gc.freeze()  # the process ends: nobody needs what a last collection would look through
    sys.exit(code)


def complete(instruction: str) -> int:
    """Answer a shell's completion script (`bash_complete`); exit code 1: not understood."""
    from click.shell_completion import shell_complete

    return shell_complete(cli, {}, "router", COMPLETE_VARIABLE, instruction)


def run(args: Sequence[str], environ: Mapping[str, str]) -> int:
    """
    Run one command line; the exit code: 0 ok, 1 problems found, 2 usage, 130 interrupted.

    No error reaches the user as a traceback, unless ROUTER_DEBUG is set.
    """
    try:
        code = _invoke(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads us any more: keep the interpreter's last flush from complaining about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, click.Abort):
        return 130
    except (click.ClickException, RouterError) as error:
        return explained(error, args)
    except Exception as error:  # noqa: BLE001 - the last line of defence before a user's eyes
        return _unexpected(error, debug=bool(environ.get(DEBUG_VARIABLE)))
    return code


def _invoke(args: Sequence[str]) -> int:
    try:
        with cli.make_context("router", list(args)) as context:
            cli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return 0


def explained(error: click.ClickException | RouterError, args: Sequence[str] = ()) -> int:
    """Say what is wrong with the command line `args`; return the exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return 2
    if isinstance(error, UsageError | click.UsageError):
        from router.config.removed import refused

        if instead := refused(args):
            click.echo(f"router: {instead}", err=True)
            return 2
    if isinstance(error, click.ClickException):
        where = getattr(error, "ctx", None)
        more = f"; see `{where.command_path} -h`" if where and error.exit_code == 2 else ""
        click.echo(f"router: {error.format_message().rstrip('.')}{more}", err=True)
        return error.exit_code
    if isinstance(error, ConfigError):
        from router.config import render_text

        click.echo(render_text(error.diagnostics), err=True)
        return 1
    if isinstance(error, SecretMissing):
        click.echo(_secrets_missing(str(error)), err=True)
        return 1
    click.echo(f"router: {'; '.join(str(error).splitlines())}", err=True)
    return 2 if isinstance(error, UsageError) else 1


def _secrets_missing(text: str) -> str:
    """All of them, a line each, and a way to try without."""
    lines = text.splitlines()
    what = "a secret is" if len(lines) == 1 else f"{len(lines)} secrets are"
    said = [f"router: {what} missing or unusable:", *(f"  {line}" for line in lines)]
    if any(word in text for word in ("is not set", "cannot be read", "is empty")):
        said.append("to try without: `router serve --dev` invents secrets that are missing")
    return "\n".join(said)


def _unexpected(error: Exception, *, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    words = " ".join(str(error).split())
    click.echo(
        f"router: unexpected {type(error).__name__}: {words}; "
        f"run with {DEBUG_VARIABLE}=1 for the traceback",
        err=True,
    )
    return 1
