"""`router check`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from router.cli.consent import Consent, consent_options
from router.cli.options import Options, place_options, refuse_two_files
from router.cli.output import counted, note, print_exact
from router.errors import UsageError
from router.legible import size_text
from router.suggest import did_you_mean

if TYPE_CHECKING:
    from router.config import Loaded
    from router.rules.ruleset import Ruleset


class CheckFlags(msgspec.Struct, frozen=True):
    """What the options of `router check` say."""

    strict: bool
    format_: str | None
    cost: bool
    fix: bool
    mutate: bool
    least: float | None
    code: str | None

    @property
    def mutates(self) -> bool:
        """Whether the rules are to be changed."""
        return self.mutate or self.least is not None


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
@click.option(
    "--fix", is_flag=True, help="Mend what has one right answer: a diff, then a question."
)
@consent_options
@click.option("--mutate", is_flag=True, help="Show which changes of the rules no test notices.")
@click.option(
    "--min-score",
    "least",
    metavar="PERCENT",
    type=click.FloatRange(0, 100),
    help="Change the rules as --mutate does; fail if fewer changes are noticed.",
)
@click.option("--explain", "code", metavar="CODE", help="Print the page of a code, nothing else.")
def check(*, files: tuple[str, ...], place: Options, consent: Consent, **given: Any) -> None:
    """
    Check a rules file. Needs no secrets, runs nothing of it, calls nobody.

    Several files are checked one by one, each as a rules file of its own.
    """
    asked = CheckFlags(**given)
    if asked.code is not None:
        click.echo(_page(asked.code))
        return
    if (consent.yes or consent.dry_run) and not asked.fix:
        raise UsageError("--yes and --dry-run go with --fix")
    for file in files:
        refuse_two_files(str(place.rules), file)
    replace = msgspec.structs.replace
    places = [replace(place, rules=Path(file)) for file in files] or [place]
    format_ = asked.format_ or ("json" if place.as_json else "text")
    if asked.fix:
        from router.cli.check_fix import fix_files

        fix_files(places, consent, quiet=format_ != "text")
    results = [(p, p.loaded(thorough=True, tests=True)) for p in places]
    shown = _print_costs if asked.cost else _print
    wrong = any(_is_wrong(loaded, strict=asked.strict) for _, loaded in results)
    if wrong or not asked.mutates or format_ == "text":
        shown(results, format_, strict=asked.strict)
    if wrong or (asked.mutates and _lacking(results, format_, asked.least)):
        raise click.exceptions.Exit(1)


def _lacking(results: "list[tuple[Options, Loaded]]", format_: str, least: float | None) -> bool:
    """Change the rules and show what no test notices; whether that is too much."""
    from router.cli import check_mutate as mutation

    if format_ not in ("text", "json"):
        raise UsageError(f"--mutate prints text or json, not {format_}")
    files = [mutation.mutate(one, str(place.rules), place.environ) for place, one in results]
    if format_ == "json":
        print_exact(mutation.mutation_json(files))
    else:
        for line in mutation.mutation_lines(files):
            click.echo(line)
    percent = mutation.percent_of(mutation.total(files))
    if least is None or percent >= least:
        return False
    note(f"router: the score of {percent:.1f} % is below {least:g} %")
    return True


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
    if fixable := sum(d.fix is not None for d in found):
        click.echo(f"{counted(fixable, 'finding')} with one right answer: router check --fix")
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
        + (" within `allow_from`" if e.allow_from else "")
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
