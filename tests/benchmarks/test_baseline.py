"""An older commit beside this one: medians, ratios of the rounds, and what cannot be had."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.__main__ import arguments
from benchmarks.baseline import Checkout, NoBaseline, Sides, beside, checked_out
from benchmarks.bench import Bench, WrongFigures
from benchmarks.figures import Cost, Row, at_least
from tests import ledger
from tests.acceptance.process import ROOT

OLDER = Checkout("abc1234", Path("/older/code"), "/older/bin/python")


def rounds(*figures: float) -> list[list[Row]]:
    """The rate as told, the cost of one the other way round."""
    return [
        [
            Row(
                "durable accept and run",
                figure,
                "deliveries/s",
                cost=Cost(1e6 / figure, 0.0, 1.0, None, 14.0),
            ),
            Row("bare Litestar echo", 100, "deliveries/s", ours=False),
            at_least("ratio to echo", figure / 100, "x", 3.0),
        ]
        for figure in figures
    ]


def test_a_ratio_is_the_median_of_the_rounds_own() -> None:
    rows = {row.name: row for row in beside("abc", rounds(100, 10, 100), rounds(200, 40, 400))}
    assert rows["durable accept and run, of abc"].figure == 4.0
    assert rows["durable accept and run: processor time of one, of abc"].figure == 0.25
    assert rows["durable accept and run: processor time of one, of abc"].met is True


def test_both_sides_are_told_by_their_medians() -> None:
    rows = {row.name: row for row in beside("abc", rounds(100, 10, 120), rounds(200, 40, 400))}
    assert rows["durable accept and run"].figure == 200
    assert rows["durable accept and run, abc"].figure == 100
    assert rows["durable accept and run, abc"].ours is False
    assert rows["durable accept and run"].cost == Cost(5_000.0, 0.0, 1.0, None, 14.0)


def test_a_goal_is_judged_by_the_median() -> None:
    rows = {row.name: row for row in beside("abc", rounds(100), rounds(400))}
    assert rows["ratio to echo"].met is True
    rows = {row.name: row for row in beside("abc", rounds(1, 1, 1), rounds(400, 200, 100))}
    assert (rows["ratio to echo"].figure, rows["ratio to echo"].met) == (2.0, False)


def test_what_another_program_does_is_not_compared() -> None:
    names = {row.name for row in beside("abc", rounds(100), rounds(200))}
    assert "bare Litestar echo, of abc" not in names
    assert "ratio to echo, of abc" not in names


def test_the_sides_take_turns_and_each_is_given_its_own_code(tmp_path: Path) -> None:
    order: list[tuple[Path, str]] = []

    def measure(bench: Bench) -> Iterator[Row]:
        order.append((bench.code, bench.rig("one", "rules: []\n").router().python))
        yield Row("rate", 100, "jobs/s")

    Sides(Bench(tmp_path, 0, 3), OLDER).rows(measure)
    older, ours = OLDER[1:], (ROOT, sys.executable)
    assert order == [older, ours, ours, older, older, ours]


@pytest.mark.long
def test_a_store_is_filled_by_the_side_s_own_code(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    rig = bench.rig("seeded", "rules: []\n")
    bench.seed_jobs(rig, 3)
    assert ledger.counts(rig.store) == ledger.Counts(3, 3, 0, 0)
    bench.code = tmp_path
    package = tmp_path / "benchmarks"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "seed.py").write_text("def keys(store, name):\n    store.write_text(name)\n")
    bench.seed("keys", rig, "another store")
    assert rig.store.read_text() == "another store"
    with pytest.raises(WrongFigures, match="no attribute 'jobs'"):
        bench.seed("jobs", rig)


def test_a_commit_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NoBaseline, match="git"), checked_out("no-such-commit", tmp_path):
        pass


@pytest.mark.parametrize("other", ["--record", "--compare=x", "--show=x"])
def test_it_does_not_go_with_what_is_about_earlier_runs(
    other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        arguments(["--baseline", "HEAD", other])
    assert "--baseline goes with" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["listeners", "flood", "onset"])
def test_what_measures_this_checkout_alone_shows_no_other(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        arguments([name, "--baseline", "HEAD"])
    assert "measure this checkout alone" in capsys.readouterr().err
