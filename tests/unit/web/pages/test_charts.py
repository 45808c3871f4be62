"""Charts: bars of the right heights, and the same in words and as a table."""

import re

from router.legible import moment
from router.operator.overview_answer import Chart
from router.web.pages.charts import HEIGHT, bars, figures, rows
from tests.builders import NOW

CHART = Chart(NOW, 900, (0, 4, 0), (0, 0, 0), (1, 0, 0), (0, 0, 0))


def test_bars_are_as_high_as_what_they_count() -> None:
    made = bars("deliveries", "came", [0, 1, 1000, 500], 60)
    drawn = re.findall(r"M([\d.]+) 40v-([\d.]+)h0.8V40z", made.path)
    assert [(float(x), float(y)) for x, y in drawn] == [(1.1, 2.0), (2.1, HEIGHT), (3.1, 20.0)]
    assert (made.total, made.width) == (1501, 4)


def test_a_chart_is_said_in_words() -> None:
    assert [one.said for one in figures(CHART)] == [
        f"deliveries: 4, most 4 within a quarter of an hour, from {moment(NOW + 900_000)}",
        "refused: 0",
        f"failed attempts: 1, most 1 within a quarter of an hour, from {moment(NOW)}",
        "jobs that died: 0",
    ]
    assert figures(CHART)[1].path == ""


def test_the_table_has_what_happened_the_newest_first() -> None:
    assert [(row.at, row.counts) for row in rows(CHART)] == [
        (NOW + 900_000, (4, 0, 0, 0)),
        (NOW, (0, 0, 1, 0)),
    ]
