"""Small charts: what the overview counts, as bars that need no script and no style of their own."""

from collections.abc import Sequence

import msgspec

from router.legible import moment
from router.operator.overview_answer import Chart

HEIGHT = 40
GAP = 0.2
_WORDS = {60: "minute", 900: "quarter of an hour", 3_600: "hour"}


class Bars(msgspec.Struct, frozen=True):
    """
    Bars side by side, each one wide, in a box of `width` by HEIGHT: `path` is their outline in SVG,
    `said` the same in words.
    """

    name: str
    kind: str
    total: int
    width: int
    path: str
    said: str


class ChartRow(msgspec.Struct, frozen=True):
    """What a chart shows of one span of time that something happened in."""

    at: int
    counts: tuple[int, ...]


def bars(name: str, kind: str, values: Sequence[int], step_s: int, begins_at: int = 0) -> Bars:
    """The highest one is as high as the box; what is there at all can be seen."""
    most = max(values, default=0)
    path = "".join(
        f"M{at + GAP / 2:g} {HEIGHT}v-{max(2.0, value / most * HEIGHT):.3g}h{1 - GAP:g}V{HEIGHT}z"
        for at, value in enumerate(values)
        if value
    )
    said = f"{name}: {sum(values)}"
    if most:
        said += f", most {most} within a {_WORDS[step_s]}"
    if most and begins_at:
        said += f", from {moment(begins_at + list(values).index(most) * step_s * 1000)}"
    return Bars(name, kind, sum(values), len(values), path, said)


def figures(chart: Chart) -> tuple[Bars, ...]:
    """One chart, by what it counts."""
    return tuple(
        bars(name, kind, values, chart.step_s, chart.begins_at) for name, kind, values in _of(chart)
    )


def rows(chart: Chart) -> list[ChartRow]:
    """The same as a table, the newest first, without the times at which nothing happened."""
    counted = zip(*(values for _, _, values in _of(chart)), strict=True)
    found = [
        ChartRow(chart.begins_at + at * chart.step_s * 1000, counts)
        for at, counts in enumerate(counted)
        if any(counts)
    ]
    return found[::-1]


def _of(chart: Chart) -> tuple[tuple[str, str, Sequence[int]], ...]:
    return (
        ("deliveries", "came", chart.deliveries),
        ("refused", "refused", chart.refused),
        ("failed attempts", "failed", chart.failed),
        ("jobs that died", "died", chart.dead),
    )
