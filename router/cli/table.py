"""Tables of text: a line for each row, and where that is too narrow a second one."""

from collections.abc import Collection, Sequence
from textwrap import wrap
from unicodedata import combining, east_asian_width

Cells = Sequence[str]

_GAP = "  "
_INDENT = "    "


def table_lines(
    columns: Cells, rows: Sequence[Cells], width: int | None, whole: Collection[str] = ()
) -> list[str]:
    """
    The header, then the rows, at most `width` cells of a terminal wide, if words are not longer.

    Words never break inside. The last column may take two lines; what else is too much for a line
    stands below it with its column's name, unless there is nothing to say of it (`-`). Columns
    named in `whole` are never wrapped: they are copied, and the terminal knows where it wraps.
    """
    widths = [max(map(cells, column)) for column in zip(columns, *rows, strict=True)]
    most = _fitting(widths, width)
    if most == len(columns):
        return [_line(row, widths) for row in (columns, *rows)]
    width = width or 0
    if most == len(columns) - 1 and columns[-1] not in whole:
        found = _with_last_wrapped(columns, rows, widths, width)
        if found is not None:
            return found
    lines = [_line(columns[:most], widths)]
    for row in rows:
        lines.append(_line(row[:most], widths))
        lines += [_INDENT + line for line in _below(columns[most:], row[most:], width, whole)]
    return lines


def cells(text: str) -> int:
    """How many cells of a terminal a line of text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _fitting(widths: Sequence[int], width: int | None) -> int:
    """How many of the columns fit; one at least."""
    taken = 0
    for index, column in enumerate(widths):
        taken += column + (len(_GAP) if index else 0)
        if width is not None and taken > width and index:
            return index
    return len(widths)


def _line(row: Cells, widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cells(cell)) for cell, width in zip(row, widths, strict=False))
    return _GAP.join(padded).rstrip()


def _with_last_wrapped(
    columns: Cells, rows: Sequence[Cells], widths: Sequence[int], width: int
) -> list[str] | None:
    """None: its words are too long for that, or it would take more than two lines."""
    blank = [""] * (len(columns) - 1)
    left = width - sum(widths[:-1]) - len(_GAP) * len(blank)
    if cells(columns[-1]) > left:
        return None
    lines = [_line(columns, widths)]
    for row in rows:
        words = _words(row[-1], left) or [""]
        if len(words) > 2 or any(cells(one) > left for one in words):
            return None
        lines += [_line((*row[:-1], words[0]), widths)]
        lines += [_line((*blank, one), widths) for one in words[1:]]
    return lines


def _below(columns: Cells, row: Cells, width: int, whole: Collection[str]) -> list[str]:
    """`name: cell` of each that says something, as many to a line as it holds."""
    lines: list[str] = []
    for name, cell in zip(columns, row, strict=True):
        said = f"{name}: {cell}"
        if cell in ("", "-"):
            continue
        if lines and cells(lines[-1] + _GAP + said) <= width - len(_INDENT):
            lines[-1] += _GAP + said
        else:
            lines += [said] if name in whole else _words(said, width - len(_INDENT))
    return lines


def _words(text: str, width: int) -> list[str]:
    return wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False)
