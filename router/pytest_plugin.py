"""
A pytest plugin: each test of a rules file is an item with its file and line.

The ini file asks for it (`addopts = -p router.pytest_plugin`) and names the rules files
(`router_rules = rules.yaml`). Imports little: what collecting needs is imported when it is needed.
"""

import os
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from router.model.trial import Trial
    from router.rehearsal import TrialResult, TrialRunner
    from router.rules.ruleset import Ruleset

REAL = "--router-real"


class RulesTestFailedError(Exception):
    """A test's expectations were not met; its lines say which."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))


def pytest_addoption(parser: pytest.Parser) -> None:
    """The files, and leave to run their actions."""
    parser.addini("router_rules", "rules files whose tests are to run", type="paths")
    group = parser.getgroup("router", "webhook rules")
    group.addoption(
        REAL, action="store_true", help="let tests with `real: true` start their actions"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Where pytest was given no paths, the rules files are collected too."""
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        return
    inside = [Path(arg.split("::")[0]).absolute() for arg in config.args]
    for path in _rules(config):
        if not any(path.is_relative_to(folder) for folder in inside):
            config.args.append(str(path))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "RulesFile | None":
    """The rules files that the ini file names."""
    if file_path not in _rules(parent.config):
        return None
    return RulesFile.from_parent(parent, path=file_path)


def _rules(config: pytest.Config) -> list[Path]:
    return [Path(path) for path in config.getini("router_rules")]


class RulesFile(pytest.File):
    """A rules file and the tests of it and of the files beside it."""

    def collect(self) -> Iterator["RulesItem"]:
        """Its tests, in order."""
        from router.config import render_text
        from router.wiring.rules import read_rules

        loaded = read_rules(self.path, environ=os.environ, tests=True)
        if loaded.ruleset is None:
            raise self.CollectError(render_text(loaded.diagnostics))
        runner = cache(partial(_runner, loaded.ruleset))
        for trial in loaded.trials:
            yield RulesItem.from_parent(self, name=trial.name, trial=trial, runner=runner)


def _runner(ruleset: "Ruleset") -> "TrialRunner":
    from router.rehearsal import TrialRunner

    return TrialRunner(ruleset, environ=os.environ, random_bytes=os.urandom)


class RulesItem(pytest.Item):
    """One test; `runner` gives the one that all tests of its file share."""

    def __init__(
        self, *, trial: "Trial", runner: Callable[[], "TrialRunner"], **given: Any
    ) -> None:
        super().__init__(**given)
        self._trial = trial
        self._runner = runner

    def runtest(self) -> None:
        """
        Run it.

        Raises:
            RulesTestFailedError: something did not come as expected.
        """
        from router.cli.test_report import failure_lines

        if self._trial.real and not self.config.getoption(REAL):
            pytest.skip(f"its actions would really run; allow it with {REAL}")
        result = self._result()
        if result.failures:
            raise RulesTestFailedError(failure_lines(result, allow=REAL))

    def _result(self) -> "TrialResult":
        runner = self._runner()
        if not self._trial.real:
            return runner.run(self._trial)
        from router.wiring.test_runner import run_tests

        return run_tests(runner.ruleset, [self._trial], environ=os.environ, real=True).results[0]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Our own lines; a traceback only where the fault is the router's."""
        if isinstance(excinfo.value, RulesTestFailedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The file, the line counted from 0, and the name."""
        return Path(self._trial.file), self._trial.line - 1, self._trial.name
