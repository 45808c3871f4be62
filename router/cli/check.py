"""`router check`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from router.cli.options import Options, place_options, refuse_two_files
from router.errors import UsageError
from router.legible import size_text
from router.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from router.config import Loaded

FORMATS = ("text", "json", "github", "gitlab", "sarif", "junit")


@click.command()
@click.argument("files", nargs=-1, metavar="[RULES]...")
@place_options()
@click.option("--strict", is_flag=True, help="Warnings are problems too.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="Text, JSON, or what a CI service shows beside the lines; --json is short for json.",
)
@click.option("--cost", is_flag=True, help="Say by what each rule is looked up, or why by nothing.")
@click.option("--explain", "code", metavar="CODE", help="Print the page of a code, and no more.")
@click.pass_context
def check(
    ctx: click.Context,
    *,
    files: tuple[str, ...],
    place: Options,
    strict: bool,
    format_: str | None,
    cost: bool,
    code: str | None,
) -> None:
    """
    Say whether a rules file is right. Needs no secrets, starts nothing, calls nobody.

    Several files are checked one by one, each as a rules file of its own.
    """
    if code is not None:
        click.echo(_page(code))
        return
    places = _places(place, files)
    results = [(p, p.loaded(thorough=True, tests=True)) for p in places]
    wrong = any(_is_wrong(loaded, strict=strict) for _, loaded in results)
    format_ = format_ or ("json" if place.as_json else "text")
    if cost:
        _print_costs(results, format_, strict=strict)
    else:
        _print(results, format_, strict=strict)
    if wrong:
        ctx.exit(1)


def _places(place: Options, files: tuple[str, ...]) -> list[Options]:
    for file in files:
        refuse_two_files(str(place.rules), file)
    return [msgspec.structs.replace(place, rules=Path(file)) for file in files] or [place]


def _is_wrong(loaded: "Loaded", *, strict: bool) -> bool:
    return loaded.ruleset is None or (strict and bool(loaded.diagnostics))


def _print(results: "list[tuple[Options, Loaded]]", format_: str, *, strict: bool) -> None:
    from router.config.annotations import render

    found = list(dict.fromkeys(d for _, loaded in results for d in loaded.diagnostics))
    said = render(format_, found, [str(p.rules) for p, _ in results])
    if format_ != "text":
        click.echo(said, nl=False)
        return
    if found:
        click.echo(said)
        click.echo("more about each: router check --explain CODE")
    for place, loaded in results:
        if not _is_wrong(loaded, strict=strict):
            click.echo(f"{place.rules}: ok, {_counted(loaded)}")
            for line in _open_to_all(loaded):
                click.echo(line)


def _print_costs(results: "list[tuple[Options, Loaded]]", format_: str, *, strict: bool) -> None:
    from router.cli.check_cost import costs_json, costs_lines

    read = [(str(place.rules), loaded) for place, loaded in results]
    if format_ == "json":
        click.echo(costs_json(read))
        return
    if format_ != "text":
        raise UsageError(f"--cost goes with text and json, not with {format_}")
    _print(results, format_, strict=strict)
    for line in costs_lines(read):
        click.echo(line)


def _counted(loaded: "Loaded") -> str:
    if loaded.ruleset is None:
        return ""
    rules = loaded.ruleset.rules
    actions = sum(len(rule.actions) for rule in rules)
    counts = (
        (len(loaded.ruleset.addressed), "endpoint"),
        (len(rules), "rule"),
        (actions, "action"),
    )
    return ", ".join(f"{n} {noun}" if n == 1 else f"{n} {noun}s" for n, noun in counts)


def _open_to_all(loaded: "Loaded") -> "Iterator[str]":
    """What is no fault, but should be known: who may send what unproved."""
    for endpoint in loaded.ruleset.addressed.values() if loaded.ruleset else ():
        if endpoint.unsigned:
            most = size_text(endpoint.body_max)
            yield f"endpoint {endpoint.name}: `verify: none`, takes up to {most} from anybody"


def _page(code: str) -> str:
    from router.config.code_pages import page
    from router.config.codes import CODES

    if code not in CODES:
        hint = did_you_mean(code, CODES) or "`router check` names them, docs/diagnostics.md all"
        raise UsageError(f"there is no code '{code}'; {hint}")
    return page(code)
