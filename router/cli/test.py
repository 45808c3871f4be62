"""`router test`."""

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from router.cli.options import Options, place_options, rules_argument
from router.cli.output import note, printed
from router.errors import ConfigError, UsageError
from router.suggest import did_you_mean

if TYPE_CHECKING:
    from router.config import Loaded
    from router.wiring.test_runner import TestRunResult

Chosen = Callable[[str], object]


class TestOptions(NamedTuple):
    """Which tests are run, how, and where else the results go."""

    pattern: str | None
    junit: Path | None
    real: bool
    coverage: bool
    least: float | None
    update: bool


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
@click.option("--real", is_flag=True, help="Let tests with `real: true` start their actions.")
@click.option("--coverage", is_flag=True, help="Show which conditions and actions were tried.")
@click.option(
    "--min-coverage",
    "least",
    metavar="PERCENT",
    type=click.FloatRange(0, 100),
    help="Fail below this coverage.",
)
@click.option("--update", is_flag=True, help="Write down what `snapshot: true` tests send now.")
@click.option("--watch", "watching", is_flag=True, help="Run again when a file changes.")
@click.pass_context
def test(
    ctx: click.Context,
    /,
    *,
    place: Options,
    watching: bool,
    **given: Any,
) -> None:
    """
    Run the tests of a rules file: real signatures and rules, no call leaves the machine.

    Tests are under `tests:` and in NAME.test.yaml beside each file. PATTERN is a part of a
    test's name, with * and ? the whole of it, or a /regular expression/; case does not count.
    """
    options = TestOptions(**given)
    chosen = _chosen(options.pattern)
    if not watching:
        ctx.exit(_run(place, options, chosen)[0])
    from router.cli.test_watch import watch

    ctx.exit(watch(place.rules, lambda: _run(place, options, chosen, brief=True)))


def _run(
    place: Options, options: TestOptions, chosen: Chosen, *, brief: bool = False
) -> tuple[int, Iterable[str]]:
    """Run and report them once; gives the exit code, and the files that they need."""
    from router.cli.test_report import print_results, results_json, write_junit
    from router.cli.test_update import note_unused, update
    from router.config import render_text

    loaded = place.loaded(tests=True)
    if loaded.ruleset is None and brief:
        click.echo(render_text(loaded.diagnostics), err=True)
        return 1, loaded.test_data
    run = _tried(place, loaded, chosen, options)
    if options.update:
        run = run._replace(results=update(place.rules, loaded.trials, run.results))
    elif options.pattern is None:
        note_unused(place.rules, loaded.trials)
    if options.junit is not None:
        write_junit(options.junit, place.rules, run.results)
    if not printed(results_json(run), as_json=place.as_json):
        print_results(run, brief=brief)
    if not run.results:
        note(_nothing_chosen(place.rules, loaded, options.pattern))
    failed = any(result.failures for result in run.results)
    wrong = not run.results or failed or _lacking(run, options.least)
    return int(wrong), loaded.test_data


def _chosen(pattern: str | None) -> Chosen:
    if pattern is None:
        return lambda _: True
    if len(pattern) > 2 and pattern[0] == pattern[-1] == "/":
        try:
            return re.compile(pattern[1:-1], re.IGNORECASE).search
        except re.error as error:
            raise UsageError(f"--run {pattern}: not a regular expression: {error}") from None
    wanted = pattern.casefold()
    return lambda name: wanted in name.casefold() or fnmatchcase(name.casefold(), wanted)


def _nothing_chosen(rules: Path, loaded: "Loaded", pattern: str | None) -> str:
    if not loaded.trials:
        return f"router: {rules} has no tests; write some under `tests:`"
    names = [trial.name for trial in loaded.trials]
    hint = did_you_mean(pattern or "", names)
    return f"router: no test of {rules} fits {pattern!r}; {hint or f'it has {len(names)}'}"


def _tried(
    place: Options, loaded: "Loaded", chosen: Chosen, options: TestOptions
) -> "TestRunResult":
    from router.wiring.test_runner import TestRunResult, run_tests

    if loaded.ruleset is None:
        raise ConfigError(loaded.diagnostics)
    trials = [trial for trial in loaded.trials if chosen(trial.name)]
    if not trials:
        return TestRunResult([], None)
    return run_tests(
        loaded.ruleset,
        trials,
        environ=place.environ,
        real=options.real,
        coverage=options.coverage or options.least is not None,
    )


def _lacking(run: "TestRunResult", least: float | None) -> bool:
    if least is None or run.coverage is None or run.coverage.percent >= least:
        return False
    note(f"router: the coverage of {run.coverage.percent:.1f} % is below {least:g} %")
    return True
