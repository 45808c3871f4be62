"""
A pytest plugin for the runs within a copy: is it the copy's router that is tested? What failed?

The router is installed from the working tree as well; a run that tested that one would call every
defect caught or every one survived. Outcomes go, a line each, to the file named in the environment.
"""

import os
from pathlib import Path

import pytest

import router

REPORT = "DEFECTS_REPORT"


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to run on another router than the one in this folder."""
    loaded = Path(router.__file__).resolve()
    if not loaded.is_relative_to(config.rootpath.resolve()):
        raise pytest.UsageError(f"the router that is tested is {loaded}, not the copy's")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """One line for each phase that tells something: a call's outcome, or a set-up that did not."""
    if report.when == "call" or report.outcome != "passed":
        with Path(os.environ[REPORT]).open("a", encoding="utf-8") as file:
            file.write(f"{report.outcome} {report.nodeid}\n")
