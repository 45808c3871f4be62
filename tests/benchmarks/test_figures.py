"""Figures as values: kept in a file, rows with goals, latencies in classes."""

from pathlib import Path

import pytest

from benchmarks.figures import (
    EDGES_MS,
    NoFigures,
    Row,
    absent,
    at_least,
    at_most,
    classes,
    read,
    write,
)
from benchmarks.table import line, shown
from tests.benchmarks.values import a_whole_run


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    place = tmp_path / "figures.json"
    write(place, a_whole_run())
    assert read(place) == a_whole_run()


def test_no_file_and_another_file_are_reported(tmp_path: Path) -> None:
    place = tmp_path / "figures.json"
    with pytest.raises(NoFigures, match="No such file"):
        read(place)
    place.write_text('{"rows": []}', "utf-8")
    with pytest.raises(NoFigures, match=r"figures\.json: "):
        read(place)


def test_goals_are_met_at_their_very_figure() -> None:
    assert at_least("r", 0.9, "x", 0.9).met
    assert not at_least("r", 0.89, "x", 0.9).met
    assert at_most("r", 10, "ms", 10).met
    assert not at_most("r", 10.1, "ms", 10).met


def test_a_figure_is_found_by_its_name() -> None:
    assert a_whole_run().figure("ratio to echo") == 0.2
    assert a_whole_run().figure("Node-RED") is None
    assert a_whole_run().figure("no such row") is None


@pytest.mark.parametrize(
    ("milliseconds", "place"), [(0.0, 0), (0.1, 0), (0.1001, 1), (10_000, 50), (10_001, 51)]
)
def test_a_latency_falls_into_the_class_that_ends_at_it(milliseconds: float, place: int) -> None:
    counts = classes([milliseconds])
    assert len(counts) == len(EDGES_MS) + 1
    assert counts.index(1) == place


@pytest.mark.parametrize(
    ("figure", "text"),
    [(6254, "6,254"), (0.185, "0.185"), (60.23, "60.2"), (143.4, "143"), (1234.5, "1,230")],
)
def test_figures_are_shown_to_three_digits_and_counts_whole(figure: float, text: str) -> None:
    assert shown(figure) == text


def test_a_program_that_is_not_here_has_a_row_that_says_so() -> None:
    cells = [cell.strip() for cell in line(absent("Node-RED")).split("|")]
    assert cells == ["", "Node-RED", "", "not installed here", "", "", ""]


def test_every_line_of_a_table_is_as_wide() -> None:
    rows = (Row("a", 1, "x"), at_least("b", 2.0, "x", 3), absent("c"))
    assert len({len(line(row)) for row in rows}) == 1
