"""`router check`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from router.cli.consent import Consent, consent_options
from router.cli.options import Options, place_options, refuse_two_files
from router.cli.output import counted
from router.errors import UsageError
from router.legible import size_text
from router.suggest import did_you_mean

if TYPE_CHECKING:
    from router.config import Loaded
    from router.config.schema import FileEntry
    from router.rules.ruleset import Ruleset


class CheckFlags(msgspec.Struct, frozen=True):
    """What the options of `router check` say."""

    strict: bool
    format_: str | None
    fix: bool
    show: bool
    code: str | None


FORMATS = ("text", "json", "github", "sarif")


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
@click.option(
    "--fix", is_flag=True, help="Mend what has one right answer: a diff, then a question."
)
@consent_options
@click.option(
    "--show",
    is_flag=True,
    help="Print the file as it counts: includes, shared actions and defaults written out.",
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
    if asked.show and (asked.fix or len(files) > 1):
        raise UsageError("--show takes one file, and no --fix")
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
    if asked.show and (effective := results[0][1].file) is not None:
        click.echo(_effective(places[0], effective), nl=False)
        return
    _print(results, format_, strict=asked.strict)
    if any(_is_wrong(loaded, strict=asked.strict) for _, loaded in results):
        raise click.exceptions.Exit(1)


def _is_wrong(loaded: "Loaded", *, strict: bool) -> bool:
    if loaded.ruleset is None:
        return True
    return any(strict or one.severity == "error" for one in loaded.diagnostics)


def _effective(place: Options, file: "FileEntry") -> str:
    from router.config.effective import EffectiveFile

    def is_set(key: str, name: str) -> bool:
        if key == "env":
            return bool(place.environ.get(name))
        beside = place.rules.parent if key == "file" else place.environ.get("CREDENTIALS_DIRECTORY")
        return beside is not None and Path(beside, name).is_file()

    return EffectiveFile(file, is_set).text()


def _print(results: "list[tuple[Options, Loaded]]", format_: str, *, strict: bool) -> None:
    from router.config.annotations import render

    found = list(dict.fromkeys(d for _, loaded in results for d in loaded.diagnostics))
    text = render(format_, found)
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
