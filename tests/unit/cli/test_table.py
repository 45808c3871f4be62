"""Tables: no word breaks inside, nothing is lost, and a line is not longer than the terminal."""

from hypothesis import example, given
from hypothesis import strategies as st

from router.cli.output import cells, table_lines

WORD = st.text("abc#注", min_size=1, max_size=9)
CELL = st.lists(WORD, max_size=6).map(" ".join)
TABLE = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(WORD, min_size=n, max_size=n), st.lists(st.lists(CELL, min_size=n, max_size=n))
    )
)
HEADER = ("target", "dead", "note")
ROWS = [["erp", "2", "refused"], ["a", "-", "no answer in time"]]


def test_in_a_pipe_it_is_as_wide_as_it_must_be() -> None:
    assert table_lines(HEADER, ROWS, None) == [
        "target  dead  note",
        "erp     2     refused",
        "a       -     no answer in time",
    ]
    assert table_lines(HEADER, [], None) == ["target  dead  note"]


def test_what_fits_to_the_last_cell_is_a_line() -> None:
    assert table_lines(HEADER, ROWS, 31) == table_lines(HEADER, ROWS, None)


def test_the_last_column_may_take_two_lines() -> None:
    assert table_lines(HEADER, ROWS, 30) == [
        "target  dead  note",
        "erp     2     refused",
        "a       -     no answer in",
        "              time",
    ]


def test_what_does_not_fit_stands_below_with_its_name() -> None:
    assert table_lines(HEADER, ROWS, 14) == [
        "target  dead",
        "erp     2",
        "    note:",
        "    refused",
        "a       -",
        "    note: no",
        "    answer in",
        "    time",
    ]


def test_below_are_as_many_as_a_line_holds_and_none_that_says_nothing() -> None:
    rows = [["a" * 16, "1", "-", "two", "three four"]]
    assert table_lines(("rule", "b", "c", "d", "e"), rows, 16) == [
        "rule",
        "a" * 16,
        "    b: 1  d: two",
        "    e: three",
        "    four",
    ]


def test_wide_letters_take_two_cells() -> None:
    assert [cells(text) for text in ("ab", "注文", "e\u0301")] == [2, 4, 1]
    assert table_lines(("a", "b"), [["注文", "x"]], None) == ["a     b", "注文  x"]


@given(TABLE, st.integers(1, 80))
def test_no_word_breaks_and_none_is_lost(
    table: tuple[list[str], list[list[str]]], width: int
) -> None:
    columns, rows = table
    words = " ".join(table_lines(columns, rows, width)).split()
    for cell in (word for row in rows for one in row for word in one.split()):
        assert cell in words
        words.remove(cell)


@given(TABLE, st.integers(24, 80))
@example((["a", "a", "a", "aa", "aaaaa", "aaaaa"], []), 24)  # the header alone is too wide
def test_no_line_is_longer_than_the_terminal(
    table: tuple[list[str], list[list[str]]], width: int
) -> None:
    columns, rows = table
    first = max(map(cells, [columns[0], *(row[0] for row in rows)]))
    lines = table_lines(columns, rows, width)
    assert max(map(len, lines)) <= max(width, first)


def test_what_is_copied_is_not_wrapped() -> None:
    rows = [["now", "router replay --rule paid"]]
    for width in (4, 20):
        assert table_lines(("at", "what"), rows, width, {"what"}) == [
            "at",
            "now",
            "    what: router replay --rule paid",
        ]
