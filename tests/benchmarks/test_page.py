"""What the page says in figures: only what was measured, in two digits."""

import pytest

from benchmarks.figures import Row
from benchmarks.page import answers, put, sizing, tables
from tests.benchmarks.values import a_run, a_whole_run

RATE = Row("durable accept and run", 6_254, "deliveries/s")
FULL = Row("memory, 1,000,000 jobs waiting, peak", 143.0, "MiB")


def test_what_was_not_measured_is_not_answered() -> None:
    assert list(answers(a_run())) == []
    assert [question for question, _ in answers(a_run(RATE))] == [
        "How many deliveries can one process keep?"
    ]


def test_an_answer_needs_all_its_rows() -> None:
    assert list(answers(a_run(FULL))) == []


def test_a_rate_is_reported_with_half_of_it() -> None:
    assert "6,300 a second at full load; plan for half of it, 3,100" in sizing(a_run(RATE))


def test_memory_of_a_job_is_what_a_million_add() -> None:
    found = sizing(a_run(Row("memory, idle", 60.0, "MiB"), FULL))
    assert "60 MiB, and about 87 bytes for each waiting job (140 MiB with a million)" in found


def test_each_measurement_has_its_table() -> None:
    found = tables(a_whole_run())
    assert "### load\n\n| what " in found
    assert "Each load lasted 3 s, 2 rounds." in found
    assert "| Node-RED " in found


def test_a_part_is_put_anew_and_the_rest_stays() -> None:
    page = "before\n<!-- sizing -->\nold\n<!-- end -->\nafter\n<!-- end -->\n"
    once = put(page, "<!-- sizing -->\n", "new\n")
    assert once == "before\n<!-- sizing -->\n\nnew\n\n<!-- end -->\nafter\n<!-- end -->\n"
    assert put(once, "<!-- sizing -->\n", "new\n") == once


@pytest.mark.parametrize("page", ["no mark", "<!-- sizing -->\nno end"])
def test_a_mark_that_is_missing_is_reported(page: str) -> None:
    with pytest.raises(ValueError, match="sizing"):
        put(page, "<!-- sizing -->\n", "made")
