"""What the picture of a run shows: its ratios and rates as bars, its latencies as histograms."""

import math
from collections.abc import Iterator

from benchmarks.drawing import box, line, picture, text
from benchmarks.figures import EDGES_MS, STEPS, Figures, Histogram, Row
from benchmarks.table import shown

WIDTH = 820
MARGIN = 20
LINE = 22
BAR = 13
TOP = 34
GROUP_GAP = 16
NAME_END = 340
BARS_END = 720
RATES_END = 640
RATIO = "ratio to "
BESIDE = "Ours in blue; behind each of the others how many times as many we took in the same run."
CHART = 74
CHART_GAP = 22
LEFT = 150
CLASS = 10 ** (1 / STEPS)
TICKS_MS = (0.1, 1, 10, 100, 1_000, 10_000)
LEGEND = (
    "More is better. A strong line is a goal, orange has not reached it; a faint line is 1 ×. "
    "Each group has its own scale."
)


def draw(found: Figures) -> str:
    """The SVG; the same figures give the same bytes."""
    groups = {n: kept for n, rows in found.rows.items() if (kept := ratios(rows))}
    marks: list[str] = []
    y = float(TOP)
    if groups:
        marks += [text(MARGIN, y, "Ratios within one run", "title")]
        marks += [text(MARGIN, y + 18, LEGEND, "small")]
        y += 18 + GROUP_GAP
        for rows in groups.values():
            marks += bars(rows, y)
            y += LINE * len(rows) + GROUP_GAP
    for rows in (kept for every in found.rows.values() if (kept := rates(every))):
        y += GROUP_GAP
        marks += [text(MARGIN, y, "Deliveries a second, one after another in one run", "title")]
        marks += [text(MARGIN, y + 18, BESIDE, "small")]
        marks += rate_bars(rows, y + 18 + GROUP_GAP)
        y += 18 + GROUP_GAP + LINE * len(rows) + GROUP_GAP
    if found.histograms:
        y += GROUP_GAP
        marks += [text(MARGIN, y, "Time to the answer at fixed rates", "title")]
        marks += histograms(found, y + GROUP_GAP)
        y += GROUP_GAP + (CHART + CHART_GAP) * len(found.histograms) + LINE
    marks += [text(MARGIN, y + 4, str(found.machine).partition(";")[0], "small")]
    return picture(WIDTH, y + MARGIN, "Benchmarks: ratios and latencies", marks)


def ratios(rows: tuple[Row, ...]) -> list[Row]:
    return [row for row in rows if row.unit == "x" and row.figure is not None]


def rates(rows: tuple[Row, ...]) -> list[tuple[Row, Row | None]]:
    """What each program took, ours first, and our ratio to it; empty if there is no other."""
    known = [row for row in rows if row.unit == "deliveries/s" and row.figure is not None]
    others = [(row, ratio_to(row, rows)) for row in known if not row.ours]
    return [(known[0], None), *others] if others and known[0].ours else []


def ratio_to(other: Row, rows: tuple[Row, ...]) -> Row | None:
    """The ratio that names this program, the whole name or its beginning."""
    told = {row.name.removeprefix(RATIO): row for row in ratios(rows) if RATIO in row.name}
    return next((row for name, row in told.items() if other.name.startswith(name)), None)


# -- bars ----------------------------------------------------------------------------------------


def bars(rows: list[Row], top: float) -> Iterator[str]:
    """One group: a bar for each ratio, and a line across where it is 1."""
    most = max(max(row.figure or 0, row.aim or 0, 1.0) for row in rows)
    scale = (BARS_END - NAME_END) / most
    one = NAME_END + scale
    yield line(one, top - 2, one, top + LINE * len(rows) - 4, "rule")
    for number, row in enumerate(rows):
        yield from bar(row, top + LINE * number, scale)


def bar(row: Row, y: float, scale: float) -> Iterator[str]:
    figure = row.figure or 0
    yield text(NAME_END - 8, y + BAR - 2, row.name, anchor="end")
    yield box(NAME_END, y, figure * scale, BAR, "short" if row.met is False else "bar")
    if row.aim is not None:
        goal = NAME_END + row.aim * scale
        yield line(goal, y - 3, goal, y + BAR + 3, "goal")
    yield text(WIDTH - MARGIN, y + BAR - 2, f"{shown(figure)} ×", anchor="end")


def rate_bars(rows: list[tuple[Row, Row | None]], top: float) -> Iterator[str]:
    """A bar for each program's rate; behind it, our ratio to it."""
    scale = (RATES_END - NAME_END) / max(row.figure or 0 for row, _ in rows)
    for number, (row, ratio) in enumerate(rows):
        y = top + LINE * number
        figure = row.figure or 0
        yield text(NAME_END - 8, y + BAR - 2, row.name, anchor="end")
        yield box(NAME_END, y, figure * scale, BAR, "bar" if row.ours else "peer")
        told = f"{shown(figure)}/s"
        if ratio is not None and ratio.figure is not None:
            told += f", ours {shown(ratio.figure)} ×"
        yield text(WIDTH - MARGIN, y + BAR - 2, told, anchor="end")


# -- histograms ----------------------------------------------------------------------------------


def histograms(found: Figures, top: float) -> Iterator[str]:
    """One below the other over one axis of time, which is logarithmic; each has its own height."""
    for number, one in enumerate(found.histograms):
        worst = {share: found.figure(f"{one.name}, {share}") for share in ("p50", "p99")}
        told = [f"{share} {shown(figure)} ms" for share, figure in worst.items() if figure]
        yield from histogram(one, top + number * (CHART + CHART_GAP), told)
    bottom = top + len(found.histograms) * (CHART + CHART_GAP) - CHART_GAP
    for tick in TICKS_MS:
        x = place(tick)
        yield line(x, top, x, bottom, "rule")
        yield text(x, bottom + 16, label(tick), "small", anchor="middle")


def histogram(one: Histogram, top: float, told: list[str]) -> Iterator[str]:
    """Its name and what is told beside it, then a box for each class that is not empty."""
    bottom = top + CHART
    highest = max(*one.counts, 1)
    yield text(MARGIN, top + 12, one.name)
    for number, words in enumerate((f"{sum(one.counts):,} answers", *told)):
        yield text(MARGIN, top + 28 + 15 * number, words, "small")
    yield line(LEFT, bottom, WIDTH - MARGIN, bottom, "rule")
    starts = (EDGES_MS[0] / CLASS, *EDGES_MS)
    for start, count in zip(starts, one.counts, strict=True):
        if count:
            begin, end = place(start), place(start * CLASS)
            height = max(1.0, count / highest * (CHART - 12))
            yield box(begin + 0.5, bottom - height, end - begin - 1, height, "class")


def place(milliseconds: float) -> float:
    """Where a time stands on the axis, which has room for a class before it and one behind."""
    decades = math.log10(EDGES_MS[-1] / EDGES_MS[0]) + 2 * math.log10(CLASS)
    share = math.log10(milliseconds / EDGES_MS[0] * CLASS) / decades
    return LEFT + share * (WIDTH - MARGIN - LEFT)


def label(milliseconds: float) -> str:
    return f"{milliseconds:g} ms" if milliseconds < 1_000 else f"{milliseconds / 1000:g} s"
