"""One check of `router doctor`: a verdict, what was seen, and the fix."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Literal

import click
import msgspec

from router.cli.output import visible

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


def ok(name: str, says: str, endpoint: str | None = None) -> Check:
    """All is well."""
    return Check(name, "ok", says, None, endpoint)


def problem(name: str, says: str, fix: str, endpoint: str | None = None) -> Check:
    """Something is wrong."""
    return Check(name, "problem", says, fix, endpoint)


def unknown(name: str, says: str, fix: str | None = None, endpoint: str | None = None) -> Check:
    """It was not checked, for this reason."""
    return Check(name, "not checked", says, fix, endpoint)


def problems(checks: Iterable[Check]) -> int:
    """How many there are."""
    return sum(check.verdict == "problem" for check in checks)


def print_checks(checks: Sequence[Check], rules: str) -> None:
    """A block for the file and one for each endpoint, in words, and the sum of it."""
    width = max(len(check.name) for check in checks)
    for endpoint, group in groupby(checks, lambda check: check.endpoint):
        click.echo(visible(rules if endpoint is None else f"endpoint {endpoint}"))
        for check in group:
            _print(check, width)
    click.echo(_sum(checks))


def _print(check: Check, width: int) -> None:
    click.echo(f"  {check.verdict:<11}  {visible(check.name):<{width}}  {visible(check.says)}")
    if check.fix is not None:
        click.echo(f"  {'':<11}  {'':<{width}}  → {visible(check.fix)}")


def _sum(checks: Sequence[Check]) -> str:
    counts = {v: sum(c.verdict == v for c in checks) for v in ("problem", "ok", "not checked")}
    bad = counts["problem"]
    words = "no problems" if not bad else f"{bad} problem" + ("s" if bad > 1 else "")
    return f"{words}, {counts['ok']} ok, {counts['not checked']} not checked"


def as_json(checks: Sequence[Check]) -> dict[str, Any]:
    """For `--json`."""
    return {"checks": msgspec.to_builtins(list(checks)), "problems": problems(checks)}
