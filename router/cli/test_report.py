"""What `router test` says of its results: lines, JSON, JUnit XML."""

import re
from pathlib import Path
from typing import Any

import click

from router.errors import os_errors_refused
from router.legible import visible
from router.rehearsal import TrialResult
from router.rehearsal.run import NOT_REAL
from router.wiring.test_runner import TestRunResult

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def failure_lines(result: TrialResult, *, allow: str = "--real") -> list[str]:
    """What went wrong, fit for a terminal; `allow` is the flag that lets actions run."""
    lines = [visible(line) for line in result.failures]
    return [f"{line}; allow it with {allow}" if line == NOT_REAL else line for line in lines]


def print_results(tried: TestRunResult, *, brief: bool = False) -> None:
    """
    A line a test, if `brief` a failed one, and below that what came of it; then the coverage, if it
    was measured.
    """
    for result in tried.results:
        if brief and not result.failures:
            continue
        trial, word = result.trial, "FAIL" if result.failures else "ok  "
        click.echo(f"{trial.file}:{trial.line}: {word} {visible(trial.name)}")
        for line in failure_lines(result):
            click.echo(f"    {line}")
    if tried.coverage is not None:
        click.echo()
        for line in tried.coverage.lines():
            click.echo(visible(line))
    failed = sum(bool(result.failures) for result in tried.results)
    if tried.results:
        click.echo(f"{len(tried.results) - failed} passed, {failed} failed")


def results_json(tried: TestRunResult) -> Any:
    """A list of results; with the coverage, if it was measured, an object of both."""
    results = [_as_json(result) for result in tried.results]
    if tried.coverage is None:
        return results
    return {"tests": results, "coverage": tried.coverage.as_json()}


def _as_json(result: TrialResult) -> dict[str, Any]:
    seen, trial = result.seen, result.trial
    return {
        "name": trial.name,
        "file": trial.file,
        "line": trial.line,
        "passed": not result.failures,
        "failures": list(result.failures),
        "status": seen.statuses,
        "matched": seen.matched,
        "shadow": seen.shadow,
        "errors": list(seen.errors),
        "calls": {
            "/".join(key): [c.described() for c in calls] for key, calls in seen.calls.items()
        },
        "dead": {"/".join(key): reason for key, reason in seen.dead.items()},
        "cancelled": {"/".join(key): reason for key, reason in seen.cancelled.items()},
    }


def write_junit(path: Path, rules: Path, results: list[TrialResult]) -> None:
    """
    The results for a CI system.

    Raises:
        UsageError: the file cannot be written.
    """
    from xml.etree import ElementTree as Xml

    failed = sum(bool(result.failures) for result in results)
    suite = Xml.Element("testsuite", name=str(rules), tests=str(len(results)), failures=str(failed))
    for result in results:
        name, file, line = _for_xml(result.trial.name), result.trial.file, str(result.trial.line)
        case = Xml.SubElement(suite, "testcase", classname=file, name=name, file=file, line=line)
        if result.failures:
            lines = [_for_xml(text) for text in failure_lines(result)]
            Xml.SubElement(case, "failure", message=lines[0]).text = "\n".join(lines)
    with os_errors_refused(f"cannot write {path}"):
        Xml.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _for_xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
