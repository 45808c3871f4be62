"""`router import`: rules made of another program's configuration."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from router.cli.files import read_named, taken, write_new
from router.cli.output import counted, note, print_json
from router.errors import UsageError

if TYPE_CHECKING:
    from router.cli.importing.webhook import ImportedRules


@click.group("import")
def import_() -> None:
    """Make rules of another program's configuration."""


@import_.command()
@click.argument("hooks", nargs=-1, required=True, metavar="HOOKS...", type=click.Path())
@click.option("-o", "--output", metavar="RULES", help="Write the rules there, not to stdout.")
@click.option("--check", is_flag=True, help="Only list what cannot be taken over; write nothing.")
@click.option("--secrets", metavar="FILE", help="Write the secrets there (RULES, ending in .env).")
@click.option("--allow-unsigned", is_flag=True, help="Hooks that anybody may run are no fault.")
@click.option("--urlprefix", default="hooks", metavar="TEXT", help="As webhook's (hooks).")
@click.option("--ip", default="0.0.0.0", metavar="ADDRESS", help="As webhook's (0.0.0.0).")  # noqa: S104 - webhook's default
@click.option("--port", default=9000, metavar="PORT", help="As webhook's (9000).")
@click.option("--http-methods", metavar="LIST", default="", help="As webhook's: POST,GET.")
@click.option("--secure", is_flag=True, help="As webhook's: TLS, with --cert and --key.")
@click.option("--cert", default="cert.pem", metavar="FILE", help="As webhook's (cert.pem).")
@click.option("--key", default="key.pem", metavar="FILE", help="As webhook's (key.pem).")
@click.option("--template", is_flag=True, help="As webhook's: HOOKS are Go templates.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def webhook(
    *,
    hooks: tuple[str, ...],
    output: str | None,
    secrets: str | None,
    check: bool,
    allow_unsigned: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """
    Make rules of adnanh/webhook's HOOKS files, JSON or YAML.

    What is not taken over, or is otherwise, is listed with its line. Exit code 1: a hook is left
    out, or anybody may run one. Secrets become variables; with -o their values are written into a
    file beside it that only you can read. Options that webhook has too mean what they mean there.
    """
    from router.cli.importing.hooks_file import UNSIGNED
    from router.cli.importing.webhook import ImportedRules, WebhookFlags

    secrets = secrets or (str(Path(output).with_suffix(".env")) if output else None)
    made = ImportedRules([(name, _decoded(name)) for name in hooks], WebhookFlags(**flags))
    if made.taken and not check:
        _write(made, output, secrets)
    _report(made, None if check else secrets, as_json, printed=not (check or output))
    bad = {one.code for one in made.listed if one.severity == "error" or one.code == UNSIGNED}
    bad -= {UNSIGNED} if allow_unsigned else set()
    if not _is_right(made.text, output or "rules.yaml") or bad:
        raise click.exceptions.Exit(1)


def _decoded(name: str) -> str:
    try:
        return read_named(name).decode()
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not UTF-8") from None


def _write(made: "ImportedRules", output: str | None, secrets: str | None) -> None:
    """The files that are asked for; those that are there already are left alone."""
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in made.secrets.items()]
    files = [(output, made.text, 0o666), (secrets if lines else None, "".join(lines), 0o600)]
    asked = [(Path(name), text, mode) for name, text, mode in files if name is not None]
    for path, _, _ in asked:
        if path.exists():
            raise taken(path)
    for path, text, mode in asked:
        write_new(path, text, mode)


def _is_right(text: str, path: str) -> bool:
    """Whether `check` takes the rules; what it refuses is shown."""
    from router.config import load, render_text

    wrong = [one for one in load(text, path=path, env={}).diagnostics if one.severity == "error"]
    if wrong:
        note("this of the rules cannot be used; change it there, or in the hooks:")
        click.echo(render_text(wrong), err=True, nl=False)
    return not wrong


def _report(made: "ImportedRules", secrets: str | None, as_json: bool, *, printed: bool) -> None:
    """Say what was made; `printed`: with the rules, which no file holds."""
    if as_json:
        rules = {"rules": made.text} if printed else {}
        listed = [msgspec.to_builtins(one) for one in made.listed]
        counts = {"hooks": made.found, "taken": made.taken, "variables": [*made.secrets]}
        print_json({**counts, **rules, "listed": listed})
        return
    from router.config import render_text

    if printed and made.taken:
        click.echo(made.text, nl=False)
    if made.listed:
        click.echo(render_text(made.listed), err=True, nl=False)
    note(f"{made.taken} of {counted(made.found, 'hook')} taken over")
    if made.secrets:
        place = "set these variables, or write them with --secrets FILE"
        place = f"the secrets are in {secrets}, for you alone" if secrets else place
        note(f"{place}: {', '.join(made.secrets)}")
