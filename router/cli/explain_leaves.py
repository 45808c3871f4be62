"""One rule for reading: its conditions, a mark under each part, what was found, what it lacked."""

from collections.abc import Iterator

from router.expressions.trace import Leaf
from router.legible import visible
from router.rules import explain_words as words
from router.rules.explain import MATCHED, ItemReading, RuleReading
from router.rules.gone_values import GONE
from router.rules.smallest_change import SmallestChange

_COLUMN = 42
_MARKED_MAX = 120
_INDENT = 16


def rule_lines(r: RuleReading) -> Iterator[str]:
    """The rule with all its leaves, and the smallest change that would have matched."""
    yield f"  {r.rule.id}  {verdict(r)}"
    sources = "all" if r.rule.sources is None else ", ".join(r.rule.sources)
    yield f"    T from      {sources}"
    yield f"    T events    {', '.join(r.rule.events) if r.rule.events else 'every event'}"
    for position, item in enumerate(r.items):
        yield from _item(f"match[{position}]", item)
    if r.ungrouped:
        yield f"    {words.NO_TURN}"
    yield from _changes(r.changes)


def verdict(r: RuleReading) -> str:
    """Its status in words."""
    mode = "" if r.rule.mode == "live" or r.status in MATCHED else f" ({r.rule.mode})"
    if r.status in MATCHED:
        return MATCHED[r.status]
    if r.status == "redacted":
        return f"UNKNOWN{mode}: {GONE} ({', '.join(r.gone)})"
    if r.status == "error":
        return f"ERROR, which is no match{mode}"
    total = len(r.leaves)
    return f"NOT MATCHED{mode}  {r.failed} of {total} {'leaf' if total == 1 else 'leaves'} failed"


def one_line(text: str) -> str:
    """Text of one or more lines as one, for a terminal."""
    return visible(words.one_line(text))


def _item(label: str, item: ItemReading) -> Iterator[str]:
    head = f"    {words.SIGNS[words.verdict_word(item.verdict)]} {label:<9} "
    if words.is_one_leaf(item):
        yield head + _beside(item.leaves[0])
        return
    yield head + one_line(item.source)
    if marks := _marks(item):
        yield " " * _INDENT + marks
    for leaf in item.leaves:
        yield f"{'':14}{words.SIGNS[leaf.verdict]} {_beside(leaf)}"


def _marks(item: ItemReading) -> str:
    """A caret and its number under the beginning of each leaf; those that failed are underlined."""
    line, columns = _collapsed(item.source)
    if len(line) > _MARKED_MAX or visible(line) != line:
        return ""
    marks, base, expression = "", -1, ""
    for leaf in item.leaves:
        if leaf.expression is not expression:  # each item of a group is a text of its own
            expression = leaf.expression
            base = item.source.find(expression, base + 1)
        if base < 0:
            return ""
        start, end = columns[base + leaf.start], columns[base + leaf.end]
        mark = f"^{leaf.number}"
        marks = marks.ljust(start) + (mark.ljust(end - start, "~") if leaf.failed else mark)
    return marks


def _collapsed(text: str) -> tuple[str, list[int]]:
    """The text as `one_line` has it, and where each of its characters (and its end) went."""
    line, columns = "", []
    for character in text:
        columns.append(len(line))
        if not character.isspace():
            line += character
        elif line and not line.endswith(" "):
            line += " "
    return line.rstrip(), [*columns, len(line)]


def _beside(leaf: Leaf) -> str:
    """A leaf and what was found."""
    name = f"{leaf.number} {one_line(leaf.text)}"
    return f"{name:<{_COLUMN}}  {words.leaf_words(leaf)}".rstrip()


# -- the smallest change


def _changes(changes: tuple[SmallestChange, ...]) -> Iterator[str]:
    if len(changes) == 1:
        yield f"    the smallest change: {_change(changes[0])}"
    elif changes:
        yield "    the smallest change, one of:"
        yield from (f"      {change.leaf} {_change(change)}" for change in changes)


def _change(change: SmallestChange) -> str:
    hint = None if change.hint is None else one_line(change.hint)
    return words.change_words(
        one_line(change.of), one_line(change.needs), change.found, hint, words.short
    )
