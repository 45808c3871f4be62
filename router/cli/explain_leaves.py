"""One rule for reading: its conditions, a mark under each part, what was found, what it lacked."""

from collections.abc import Iterator

from router.cli.output import visible
from router.expressions import JSON, Failed, encode_json
from router.expressions.trace import Found, Leaf
from router.rules.explain import MATCHED, ItemReading, RuleReading
from router.rules.wish import Wish

_VALUE_MAX = 80
_COLUMN = 42
_MARKED_MAX = 120
_INDENT = 16
_SIGNS = {"true": "T", "false": "F", "error": "E", "not evaluated": "-"}


def rule_lines(r: RuleReading) -> Iterator[str]:
    """The rule with all its leaves, and the smallest change that would have matched."""
    yield f"  {r.rule.id}  {verdict(r)}"
    sources = "all" if r.rule.sources is None else ", ".join(r.rule.sources)
    yield f"    T from      {sources}"
    yield f"    T events    {', '.join(r.rule.events) if r.rule.events else 'every event'}"
    for position, item in enumerate(r.items):
        yield from _item(f"match[{position}]", item)
    yield from _wishes(r.wishes)


def verdict(r: RuleReading) -> str:
    """Its status in words."""
    mode = "" if r.rule.mode == "live" or r.status in MATCHED else f" ({r.rule.mode})"
    if r.status in MATCHED:
        return MATCHED[r.status]
    if r.status == "error":
        return f"ERROR, which is no match{mode}"
    total = len(r.leaves)
    return f"NOT MATCHED{mode}  {r.failed} of {total} {'leaf' if total == 1 else 'leaves'} failed"


def short(value: JSON) -> str:
    """One line of JSON, cut."""
    text = visible(encode_json(value).decode("utf-8"))
    return text if len(text) <= _VALUE_MAX else f"{text[:_VALUE_MAX]}…"


def one_line(text: str) -> str:
    """Text of one or more lines as one."""
    return visible(" ".join(text.split()))


def _item(label: str, item: ItemReading) -> Iterator[str]:
    sign = "error" if isinstance(item.verdict, Failed) else str(item.verdict).lower()
    head = f"    {_SIGNS[sign]} {label:<9} "
    [*leaves] = item.leaves
    if len(leaves) == 1 and leaves[0].text == item.source.strip():
        yield head + _beside(leaves[0])
        return
    yield head + one_line(item.source)
    if marks := _marks(item):
        yield " " * _INDENT + marks
    for leaf in leaves:
        yield f"{'':14}{_SIGNS[leaf.verdict]} {_beside(leaf)}"


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
    if leaf.verdict == "not evaluated":
        return f"{name:<{_COLUMN}}  not evaluated"
    said = [_said(found) for found in leaf.found if found.type != "error"]
    why = visible(leaf.reason) if leaf.reason is not None else ""
    seen = ", ".join(words for words in said if words != why)
    told = "; ".join(part for part in (seen, why) if part)
    return f"{name:<{_COLUMN}}  {told}".rstrip()


def _said(found: Found) -> str:
    name = one_line(found.text)
    if found.type == "absent":
        return f"{name} is not there"
    if found.type == "null":
        return f"{name} = null"
    return f"{name} = {short(found.value)} ({found.type})"


# -- the smallest change


def _wishes(wishes: tuple[Wish, ...]) -> Iterator[str]:
    if not wishes:
        return
    if len(wishes) == 1:
        yield f"    the smallest change: {_wish(wishes[0])}"
        return
    yield "    the smallest change, one of:"
    for wish in wishes:
        yield f"      {wish.leaf} {_wish(wish)}"


def _wish(wish: Wish) -> str:
    said = f"{one_line(wish.of)} {one_line(wish.needs)}"
    if wish.found is not None and wish.found.type != "error":
        absent = wish.found.type == "absent"
        said += ", is not there" if absent else f", is {short(wish.found.value)}"
    return said if wish.hint is None else f"{said} ({one_line(wish.hint)})"
