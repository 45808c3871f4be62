"""Reads the events of a trial again, slowly, and says of each rule why it did or did not match."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import msgspec

from router.expressions.trace import Leaf
from router.model.delivery import Delivery
from router.rules import explain_words as words
from router.rules.explain import Explainer, ItemReading, RuleReading
from router.rules.ruleset import Ruleset

EVENTS_SHOWN = 3
_COLUMN = 44
_STATUSES = {
    "not matched": "did not match",
    "error": "could not be evaluated for",
    "redacted": "read what is not stored of",
}


class ExplainedEvent(msgspec.Struct, frozen=True):
    """
    One event and what each rule, by its id, made of it. `unread` says why a delivery has no
    events that rules could ask for.
    """

    name: str
    endpoint: str
    rules: Mapping[str, RuleReading] = {}
    unread: str | None = None


class TrialExplainer:
    """Explains the deliveries of trials of one ruleset."""

    def __init__(self, ruleset: Ruleset) -> None:
        self._ruleset = ruleset

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self._ruleset)

    def events(self, deliveries: Iterable[Delivery]) -> Iterator[ExplainedEvent]:
        """Every event of these deliveries, in order."""
        for delivery in deliveries:
            if delivery.state not in ("routed", "unmatched"):
                yield ExplainedEvent(
                    "", delivery.endpoint, unread=f"the delivery is {delivery.state}"
                )
                continue
            read = self._ruleset.providers[delivery.provider].read_stored(delivery).events
            for e in self._explainer.events(delivery, read, None):
                action = f".{e.event.action}" if e.event.action else ""
                rules = {reading.rule.id: reading for reading in e.rules}
                yield ExplainedEvent(f"{e.event.name}{action}", delivery.endpoint, rules)


# -- in words


def explanation(rule: str, events: Iterable[ExplainedEvent]) -> list[str]:
    """Lines about one rule and each event, each once; of many the first few."""
    found: dict[tuple[str, ...], None] = {}
    for event in events:
        found[tuple(_about(rule, event))] = None
        if len(found) >= EVENTS_SHOWN:
            break
    return [line for block in found for line in block] or [f"{rule}: nothing was accepted"]


def _about(rule: str, event: ExplainedEvent) -> Iterator[str]:
    if event.unread is not None:
        yield f"{rule}: {event.unread}"
        return
    reading = event.rules[rule]
    if not reading.from_holds:
        yield f"{rule}: its 'from' does not name {event.endpoint}"
    elif not reading.events_hold:
        yield f"{rule}: its 'events' do not let {event.name} in"
    elif reading.status == "quiet":
        yield f"{rule}: 'otherwise' is skipped, because {', '.join(reading.quieted_by)} matched"
    else:
        yield f"{rule}: {_STATUSES.get(reading.status, 'matched')} {event.name}"
        for number, item in enumerate(reading.items):
            yield from _item(f"match[{number}]", item)


def _item(label: str, item: ItemReading) -> Iterator[str]:
    head = f"  {words.SIGNS[words.verdict_word(item.verdict)]} {label:<9} "
    if words.is_one_leaf(item):
        yield head + _beside(item.leaves[0])
        return
    yield head + words.one_line(item.source)
    for leaf in item.leaves:
        yield f"{'':12}{words.SIGNS[leaf.verdict]} {_beside(leaf)}"


def _beside(leaf: Leaf) -> str:
    """A leaf and the values that were found."""
    return f"{words.one_line(leaf.text):<{_COLUMN}}  {words.leaf_words(leaf)}".rstrip()


# -- what stood in the way


def obstacles(reading: RuleReading) -> tuple[str, ...]:
    """What stood first in the way of a rule, in all the words that a test may use for it."""
    if not reading.from_holds:
        return ("skipped: endpoint",)
    if not reading.events_hold:
        return ("skipped: event",)
    if reading.status == "quiet":
        return ("skipped: otherwise",)
    for number, item in enumerate(reading.items):
        if item.verdict is not True:
            leaves = [words.one_line(leaf.text) for leaf in item.leaves if leaf.failed]
            return (f"match[{number}]", *dict.fromkeys([words.one_line(item.source), *leaves[:1]]))
    return ()
