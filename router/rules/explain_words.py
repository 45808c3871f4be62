"""An explanation in words: for the terminal, a failed test, a page."""

from collections.abc import Callable

from router.expressions import JSON, Failed, FieldNeed, encode_json
from router.expressions.trace import Found, Leaf, LeafVerdict
from router.legible import cut, visible
from router.rules.explain import ItemReading
from router.rules.gone_values import GONE

VALUE_MAX = 80
SIGNS = {"true": "T", "false": "F", "error": "E", "not evaluated": "-"}
"""One letter for each verdict of a leaf."""

NO_TURN = "takes no turn: its group has no value"

Show = Callable[[JSON], str]


def one_line(text: str) -> str:
    """A text of the file without its line breaks."""
    return " ".join(text.split())


def short(value: JSON) -> str:
    """One line of JSON, cut."""
    text = visible(encode_json(value).decode("utf-8"))
    return cut(text, VALUE_MAX)


def verdict_word(verdict: bool | Failed) -> LeafVerdict:
    """A verdict as the leaves say theirs."""
    if isinstance(verdict, Failed):
        return "not evaluated" if verdict.reason == GONE else "error"
    return "true" if verdict else "false"


def is_one_leaf(item: ItemReading) -> bool:
    """Its one leaf is all of its text."""
    return len(item.leaves) == 1 and item.leaves[0].text == item.source.strip()


def leaf_words(leaf: Leaf) -> str:
    """What was found beside a leaf, and why it erred: once each, for a terminal."""
    if leaf.verdict == "not evaluated":
        return leaf.reason or "not evaluated"
    why = "" if leaf.reason is None else visible(leaf.reason)
    texts = [found_words(f, short) for f in leaf.found if f.type != "error"]
    seen = ", ".join(words for words in map(visible, texts) if words != why)
    return "; ".join(part for part in (seen, why) if part)


def found_words(found: Found, show: Show) -> str:
    """`payload.total = 5 (number)`, or that it is not there."""
    name = one_line(found.text)
    if found.type == "absent":
        return f"{name} is not there"
    kind = "" if found.type == "null" else f" ({found.type})"
    return f"{name} = {show(found.value)}{kind}"


def change_words(of: str, needs: str, found: Found | None, hint: str | None, show: Show) -> str:
    """The change, what stood there instead, and what was likely meant."""
    text = f"{of} {needs}"
    if found is not None and found.type != "error":
        text += ", is not there" if found.type == "absent" else f", is {show(found.value)}"
    return text if hint is None else f"{text} ({hint})"


def passed_words(need: FieldNeed, there: bool, found: JSON, show: Show) -> str:
    """Why the index passed a rule over."""
    choices = [show(value) for value in need.values]
    choices += [f"a text that begins with {show(text)}" for text in need.prefixes]
    choices += [f"a text that ends with {show(text)}" for text in need.suffixes]
    choices += [f"a text or list that holds {show(text)}" for text in need.parts]
    seen = f"is {show(found)}" if there else "is not there"
    return f"{one_line('.'.join(need.path))} {seen}, the rule wants {' or '.join(choices)}"
