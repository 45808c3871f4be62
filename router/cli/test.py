"""`router test`."""

import asyncio
import os
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from router.cli.output import note, print_json, visible
from router.cli.place import Place, place_options, rules_argument
from router.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from router.config import Loaded
    from router.model.trial import Trial
    from router.rehearsal import Result

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@click.command()
@rules_argument
@place_options()
@click.option("--run", "pattern", metavar="PATTERN", help="Only tests whose name holds this.")
@click.option(
    "--junit",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the results as JUnit XML.",
)
@click.pass_context
def test(ctx: click.Context, *, place: Place, pattern: str | None, junit: Path | None) -> None:
    """
    Run the `tests:` of a rules file: real signatures and rules, no call leaves the machine.

    PATTERN is a part of a test's name, or with * and ? the whole of it; case does not count.
    """
    loaded = place.loaded()
    if loaded.ruleset is None:
        raise ConfigError(loaded.diagnostics)
    chosen = [t for t in loaded.trials if _is_chosen(t.name, pattern)]
    results = asyncio.run(_rehearsed(place, loaded, chosen))
    if junit is not None:
        _write_junit(junit, place.rules, results)
    if place.as_json:
        print_json([_as_json(place.rules, result) for result in results])
    else:
        _print(place.rules, results)
    if not results:
        note(_nothing_chosen(place.rules, loaded, pattern))
    if not results or any(result.failures for result in results):
        ctx.exit(1)


def _is_chosen(name: str, pattern: str | None) -> bool:
    if pattern is None:
        return True
    wanted, found = pattern.casefold(), name.casefold()
    return wanted in found or fnmatchcase(found, wanted)


def _nothing_chosen(rules: Path, loaded: "Loaded", pattern: str | None) -> str:
    if not loaded.trials:
        return f"router: {rules} has no tests; write some under `tests:`"
    from router.yaml_source.suggest import Suggester

    names = [trial.name for trial in loaded.trials]
    hint = Suggester().hint(pattern or "", names)
    return f"router: no test of {rules} fits {pattern!r}; {hint or f'it has {len(names)}'}"


async def _rehearsed(place: Place, loaded: "Loaded", chosen: "list[Trial]") -> "list[Result]":
    from router.rehearsal import Stage

    if loaded.ruleset is None or not chosen:
        return []
    stage = Stage(loaded.ruleset, environ=place.environ, random_bytes=os.urandom)
    return [await stage.run(trial) for trial in chosen]


def _print(rules: Path, results: "list[Result]") -> None:
    for result in results:
        word = "FAIL" if result.failures else "ok  "
        click.echo(f"{rules}:{result.trial.line}: {word} {visible(result.trial.name)}")
        for line in result.failures:
            click.echo(f"    {visible(line)}")
    failed = sum(bool(result.failures) for result in results)
    if results:
        click.echo(f"{len(results) - failed} passed, {failed} failed")


def _as_json(rules: Path, result: "Result") -> dict[str, Any]:
    from router.model.call import described

    seen = result.seen
    return {
        "name": result.trial.name,
        "file": str(rules),
        "line": result.trial.line,
        "passed": not result.failures,
        "failures": list(result.failures),
        "status": seen.statuses,
        "matched": seen.matched,
        "shadow": seen.shadow,
        "errors": list(seen.errors),
        "calls": {
            "/".join(key): [described(c) for c in calls] for key, calls in seen.calls.items()
        },
        "dead": {"/".join(key): reason for key, reason in seen.dead.items()},
    }


def _write_junit(path: Path, rules: Path, results: "list[Result]") -> None:
    from xml.etree import ElementTree as Xml

    failed = sum(bool(result.failures) for result in results)
    suite = Xml.Element("testsuite", name=str(rules), tests=str(len(results)), failures=str(failed))
    for result in results:
        name, line = _for_xml(result.trial.name), str(result.trial.line)
        case = Xml.SubElement(
            suite, "testcase", classname=str(rules), name=name, file=str(rules), line=line
        )
        if result.failures:
            lines = [_for_xml(text) for text in result.failures]
            Xml.SubElement(case, "failure", message=lines[0]).text = "\n".join(lines)
    try:
        Xml.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _for_xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
