"""`router check`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from router.cli.options import Options, place_options, refuse_two_files
from router.cli.output import counted, print_exact
from router.errors import UsageError
from router.legible import size_text
from router.suggest import did_you_mean

if TYPE_CHECKING:
    from router.config import Loaded
    from router.rules.ruleset import Ruleset

FORMATS = ("text", "json", "github", "gitlab", "sarif", "junit")


@click.command()
@click.argument("files", nargs=-1, metavar="[RULES]...")
@place_options()
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="Text, JSON, or annotations for a CI service; --json is short for json.",
)
@click.option("--cost", is_flag=True, help="Show which field finds each rule, or why none does.")
@click.option("--explain", "code", metavar="CODE", help="Print the page of a code, nothing else.")
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
    Check a rules file. Needs no secrets, starts nothing, calls nobody.

    Several files are checked one by one, each as a rules file of its own.
    """
    if code is not None:
        click.echo(_page(code))
        return
    for file in files:
        refuse_two_files(str(place.rules), file)
    replace = msgspec.structs.replace
    places = [replace(place, rules=Path(file)) for file in files] or [place]
    results = [(p, p.loaded(thorough=True, tests=True)) for p in places]
    wrong = any(_is_wrong(loaded, strict=strict) for _, loaded in results)
    format_ = format_ or ("json" if place.as_json else "text")
    if cost:
        _print_costs(results, format_, strict=strict)
    else:
        _print(results, format_, strict=strict)
    if wrong:
        ctx.exit(1)


def _is_wrong(loaded: "Loaded", *, strict: bool) -> bool:
    return loaded.ruleset is None or (strict and bool(loaded.diagnostics))


def _print(results: "list[tuple[Options, Loaded]]", format_: str, *, strict: bool) -> None:
    from router.config.annotations import render

    found = list(dict.fromkeys(d for _, loaded in results for d in loaded.diagnostics))
    text = render(format_, found, [str(p.rules) for p, _ in results])
    if format_ != "text":
        click.echo(text, nl=False)
        return
    if found:
        click.echo(text)
        click.echo("more about each: router check --explain CODE")
    for place, loaded in results:
        if not _is_wrong(loaded, strict=strict):
            click.echo(f"{place.rules}: ok{_summary(loaded.ruleset)}")


def _print_costs(results: "list[tuple[Options, Loaded]]", format_: str, *, strict: bool) -> None:
    from router.cli.check_cost import costs_json, costs_lines

    read = [(str(place.rules), loaded) for place, loaded in results]
    if format_ == "json":
        print_exact(costs_json(read))
        return
    if format_ != "text":
        raise UsageError(f"--cost prints text or json, not {format_}")
    _print(results, format_, strict=strict)
    for line in costs_lines(read):
        click.echo(line)


def _summary(ruleset: "Ruleset | None") -> str:
    """How much it holds; and, as no fault but worth knowing, who may send what unproved."""
    if ruleset is None:
        return ""
    actions = sum(len(rule.actions) for rule in ruleset.rules)
    counts = (
        (len(ruleset.addressed), "endpoint"),
        (len(ruleset.rules), "rule"),
        (actions, "action"),
    )
    unsigned = [
        f"\nendpoint {e.name}: `verify: none`, accepts up to {size_text(e.body_max)} from anybody"
        for e in ruleset.addressed.values()
        if e.unsigned
    ]
    return "".join([*(f", {counted(n, noun)}" for n, noun in counts), *unsigned])


def _page(code: str) -> str:
    from router.config.codes import CODES, page

    if code not in CODES:
        hint = did_you_mean(code, CODES) or "`router check` names them, docs/diagnostics.md all"
        raise UsageError(f"there is no code '{code}'; {hint}")
    return page(code)
