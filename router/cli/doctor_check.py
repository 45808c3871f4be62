"""One check of `router doctor`: a verdict, what was seen, and the fix."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Literal

import click
import msgspec

from router.cli.output import counted
from router.legible import visible

Verdict = Literal["ok", "problem", "not checked"]


class Check(msgspec.Struct, frozen=True):
    """
    `name` is what was looked at, `endpoint` whose it is (None: the whole file's). `fix` says what
    to do about a problem, or how to have it checked.
    """

    name: str
    verdict: Verdict
    says: str
    fix: str | None = None
    endpoint: str | None = None


def ok(name: str, says: str) -> Check:
    """Nothing is wrong."""
    return Check(name, "ok", says)


def problem(name: str, says: str, fix: str) -> Check:
    """Something is wrong."""
    return Check(name, "problem", says, fix)


def unknown(name: str, says: str, fix: str | None = None) -> Check:
    """It was not checked, for this reason."""
    return Check(name, "not checked", says, fix)


def of_endpoint(endpoint: str, checks: Iterable[Check]) -> Iterator[Check]:
    """The same checks, named as this endpoint's."""
    return (msgspec.structs.replace(check, endpoint=endpoint) for check in checks)


def problems(checks: Iterable[Check]) -> int:
    """How many there are."""
    return sum(check.verdict == "problem" for check in checks)


def print_checks(checks: Sequence[Check], rules: str) -> None:
    """A block for the file and one for each endpoint, in words, and the totals."""
    width = max(len(check.name) for check in checks)
    for endpoint, group in groupby(checks, lambda check: check.endpoint):
        click.echo(visible(rules if endpoint is None else f"endpoint {endpoint}"))
        for check in group:
            name = f"{visible(check.name):<{width}}"
            click.echo(f"  {check.verdict:<11}  {name}  {visible(check.says)}")
            if check.fix is not None:
                click.echo(f"  {'':<11}  {'':<{width}}  → {visible(check.fix)}")
    counts = Counter(check.verdict for check in checks)
    bad = counted(counts["problem"], "problem") if counts["problem"] else "no problems"
    click.echo(f"{bad}, {counts['ok']} ok, {counts['not checked']} not checked")


def as_json(checks: Sequence[Check]) -> dict[str, Any]:
    """For `--json`."""
    return {"checks": checks, "problems": problems(checks)}
