"""The table of a run, as text that is Markdown too."""

from collections.abc import Iterable

from benchmarks.figures import Row

WIDTHS = (46, 10, 18, 8, 3)


def head() -> str:
    line = _line("what", "figure", "unit", "goal", "met")
    rule = ["-" * (w + 2) if n != 1 else "-" * (w + 1) + ":" for n, w in enumerate(WIDTHS)]
    return f"{line}\n|{'|'.join(rule)}|"


def line(row: Row) -> str:
    met = {True: "yes", False: "no", None: ""}[row.met]
    figure = "" if row.figure is None else shown(row.figure)
    return _line(row.name, figure, row.unit, row.goal, met)


def whole(rows: Iterable[Row]) -> str:
    return "\n".join([head(), *map(line, rows)]) + "\n"


def shown(figure: float) -> str:
    """A count as it is, anything else to three significant digits."""
    if isinstance(figure, int):
        return f"{figure:,}"
    return (
        f"{figure:#.3g}".removesuffix(".")
        if abs(figure) < 999.5
        else f"{float(f'{figure:.3g}'):,.0f}"
    )


def _line(what: str, figure: str, unit: str, goal: str, met: str) -> str:
    wide = WIDTHS
    return (
        f"| {what:<{wide[0]}} | {figure:>{wide[1]}} | {unit:<{wide[2]}} "
        f"| {goal:<{wide[3]}} | {met:<{wide[4]}} |"
    )
