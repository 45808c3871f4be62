"""The table of a run, as text that is Markdown too."""

from collections.abc import Iterable

from benchmarks.figures import Cost, Row

WIDTHS = (46, 10, 18, 8, 3)
COSTS = ("one of these costs", "CPU us", "user", "system", "switches", "commits", "calls")
COST_WIDTHS = (46, *(max(len(name), 7) for name in COSTS[1:]))


def head() -> str:
    line = _line("what", "figure", "unit", "goal", "met")
    rule = ["-" * (w + 2) if n != 1 else "-" * (w + 1) + ":" for n, w in enumerate(WIDTHS)]
    return f"{line}\n|{'|'.join(rule)}|"


def line(row: Row) -> str:
    met = {True: "yes", False: "no", None: ""}[row.met]
    figure = "" if row.figure is None else shown(row.figure)
    return _line(row.name, figure, row.unit, row.goal, met)


def whole(rows: Iterable[Row]) -> str:
    """The rows, and below them what one of each rate costs, where that was measured."""
    kept = list(rows)
    costs = cost_table(kept)
    return "\n".join([head(), *map(line, kept)]) + "\n" + (f"\n{costs}" if costs else "")


def cost_table(rows: Iterable[Row]) -> str:
    """Empty if there is none."""
    lines = [cost_line(row.name, row.cost) for row in rows if row.cost is not None]
    if not lines:
        return ""
    rule = ["-" * (w + 2) if n == 0 else "-" * (w + 1) + ":" for n, w in enumerate(COST_WIDTHS)]
    return "\n".join([_cells(COSTS), f"|{'|'.join(rule)}|", *lines]) + "\n"


def cost_line(name: str, cost: Cost) -> str:
    figures = (cost.processor_us, cost.user_us, cost.system_us, cost.switches)
    counted = (*figures, cost.commits, cost.calls)
    return _cells((name, *("" if one is None else shown(one) for one in counted)))


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


def _cells(cells: Iterable[str]) -> str:
    """A line of the table of costs: a name and six figures."""
    name, *figures = cells
    told = [f"{one:>{wide}}" for one, wide in zip(figures, COST_WIDTHS[1:], strict=True)]
    return f"| {name:<{COST_WIDTHS[0]}} | {' | '.join(told)} |"
