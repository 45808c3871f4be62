"""Two runs compared: by ratios, within a band, and by the yardstick where machines differ."""

import pytest

from benchmarks.comparing import Comparison, compare
from benchmarks.figures import Row
from tests.benchmarks.values import a_run


def moved(row: Row, now: float, *, yardstick: float | None = 100.0) -> Comparison:
    """This row then and now; the yardstick was 100 then."""
    after = Row(row.name, now, row.unit, ours=row.ours)
    return compare(a_run(row), a_run(after, yardstick=yardstick))


def names(comparison: Comparison) -> tuple[list[str], list[str]]:
    worse, better = comparison.of("worse"), comparison.of("better")
    return [c.name for c in worse], [c.name for c in better]


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (1.0, ([], [])),
        (0.86, ([], [])),
        (0.84, (["r"], [])),
        (1.17, ([], [])),
        (1.19, ([], ["r"])),
    ],
)
def test_a_ratio_is_worse_beyond_the_band(now: float, found: tuple[list[str], list[str]]) -> None:
    assert names(moved(Row("r", 1.0, "x"), now)) == found


def test_the_band_can_be_another() -> None:
    before, now = a_run(Row("r", 1.0, "x")), a_run(Row("r", 0.84, "x"))
    assert not compare(before, now, 0.2).of("worse")


def test_the_machines_speed_says_nothing_about_a_ratio() -> None:
    assert names(moved(Row("r", 1.0, "x"), 1.0, yardstick=300.0)) == ([], [])


@pytest.mark.parametrize(
    ("unit", "now"), [("deliveries/s", 500), ("jobs/s", 500), ("us/event", 2_000), ("s", 2_000)]
)
def test_half_the_speed_of_a_machine_half_as_quick_is_no_regression(unit: str, now: int) -> None:
    row = Row("r", 1_000, unit)
    assert names(moved(row, now, yardstick=200.0)) == ([], [])
    assert names(moved(row, now)) == (["r"], [])
    assert names(moved(row, 1_000, yardstick=200.0)) == ([], ["r"])


def test_without_a_yardstick_rates_are_not_compared() -> None:
    assert moved(Row("r", 1_000, "jobs/s"), 1, yardstick=None).changes == ()


@pytest.mark.parametrize("unit", ["MiB", "bytes/job", "bytes/delivery"])
def test_more_memory_is_worse_on_any_machine(unit: str) -> None:
    assert names(moved(Row("r", 100, unit), 130, yardstick=1.0)) == (["r"], [])
    assert names(moved(Row("r", 100, unit), 50, yardstick=1.0)) == ([], ["r"])


@pytest.mark.parametrize(
    "row",
    [
        Row("latency", 1.0, "ms"),
        Row("of others", 1_000, "deliveries/s", ours=False),
        Row("nothing then", 0.0, "x"),
        Row("not installed then", None, "x"),
    ],
    ids=lambda row: row.name,
)
def test_what_is_not_a_ratio_of_ours_is_not_compared(row: Row) -> None:
    assert moved(row, 0.001).changes == ()


def test_what_is_not_installed_now_is_not_compared() -> None:
    before, now = a_run(Row("r", 1.0, "x")), a_run(Row("r", None, "not installed here"))
    assert compare(before, now).changes == ()


def test_a_row_that_is_no_longer_measured_is_reported() -> None:
    found = compare(a_run(Row("r", 1.0, "x")), a_run())
    assert found.gone == ("r",)
    assert "gone: r" in str(found)


def test_a_measurement_that_did_not_run_is_not_missed() -> None:
    now = a_run()
    del now.rows["load"]
    assert compare(a_run(Row("r", 1.0, "x")), now).gone == ()


def test_what_is_said_the_worst_first() -> None:
    then = a_run(Row("a", 1.0, "x"), Row("b", 2.0, "x"), Row("c", 1_000, "jobs/s"))
    now = a_run(Row("a", 0.8, "x"), Row("b", 1.0, "x"), Row("c", 2_000, "jobs/s"))
    assert str(compare(then, now)).splitlines() == [
        "worse: b: 1.00 x, was 2.00: 50% worse",
        "worse: a: 0.800 x, was 1.00: 20% worse",
        "better: c: 2,000 jobs/s, was 1,000: 100% better by the yardstick",
        "3 ratios compared, band 15%: 2 worse, 1 better",
    ]
