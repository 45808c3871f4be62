"""`router test --update`: what tests send now is written down, and shown as a difference first."""

from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

import click
import msgspec

from router.cli.output import note
from router.config.snapshots import read_snapshots, snapshots_path, snapshots_text
from router.errors import os_errors_refused
from router.expressions import JSON
from router.expressions.compare import same
from router.legible import visible
from router.model.trial import Trial
from router.rehearsal import TrialResult
from router.rehearsal.run import SNAPSHOT
from router.rehearsal.snapshots import snapshot_difference


def update(rules: Path, trials: Iterable[Trial], results: list[TrialResult]) -> list[TrialResult]:
    """
    Write the snapshots of tests that fail in nothing else, and drop those of tests that are gone;
    gives the results with snapshots that are met.

    Raises:
        UsageError: the file cannot be written.
    """
    path = snapshots_path(rules)
    old = read_snapshots(path)
    met = {r.trial.name: r for r in map(_without_snapshot, results)}
    new: dict[str, JSON] = {}
    for trial in (trial for trial in trials if trial.expect.snapshot is not None):
        result = met.get(trial.name)
        sent = old.get(trial.name) if result is None or result.failures else result.sent
        if sent is not None:
            new[trial.name] = sent
    for name in dict.fromkeys((*old, *new)):
        if not same(old.get(name), new.get(name)):
            click.echo(f"{path}: {visible(name)}")
            for line in snapshot_difference(old.get(name), new.get(name)):
                click.echo(f"    {visible(line)}")
    if old != new or (new and not path.exists()):
        with os_errors_refused(f"cannot write {path}"):
            path.write_text(snapshots_text(new), "utf-8")
    return list(met.values())


def note_unused(rules: Path, trials: Iterable[Trial]) -> None:
    """Say how many snapshots are there of tests that have none any more."""
    path = snapshots_path(rules)
    left = read_snapshots(path).keys() - {t.name for t in trials if t.expect.snapshot is not None}
    if left:
        what = "a snapshot" if len(left) == 1 else f"{len(left)} snapshots"
        note(f"router: {path} has {what} of no test; `router test --update` drops what is unused")


def _without_snapshot(result: TrialResult) -> TrialResult:
    failures = takewhile(lambda line: not line.startswith(f"{SNAPSHOT}: "), result.failures)
    return msgspec.structs.replace(result, failures=tuple(failures))
