"""`after` and `concurrency`: what an action waits for, and which runs take turns."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import get_args

from router.config.context import LoadContext
from router.config.kinds import SCHEMAS
from router.config.language import ExpressionSite, Language
from router.config.rule_schema import LIMIT_MAX, ActionEntry, ConcurrencyEntry
from router.model.job import Group, Predecessor, Wanted
from router.rules.specs import Concurrency
from router.yaml_source import Mapping, Node, Scalar, SourceText, described, means_nothing
from router.yaml_source import Sequence as List

_ENDS: tuple[str, ...] = get_args(Wanted)


class Chains:
    """The order among the actions of one rule, with its faults reported."""

    def __init__(self, context: LoadContext, entries: Sequence[ActionEntry]) -> None:
        self._context = context
        self._faulty: set[int] = set()
        self._entries = {name: e for e in entries if (name := _name(e)) is not None}
        self._after = {e.node.start: tuple(self._needs(e).values()) for e in entries}
        self._before = {
            n: [need.action for need in self.after(e)] for n, e in self._entries.items()
        }
        self._ended: dict[str, frozenset[str]] = {}
        self._cycles()

    def after(self, entry: ActionEntry) -> tuple[Predecessor, ...]:
        """What an action waits for."""
        return self._after[entry.node.start]

    def results(self, entry: ActionEntry) -> frozenset[str] | None:
        """The actions that have ended when this one starts; None: it waits for none."""
        if entry.after is None and "after" not in entry.broken:
            return None
        if entry.node.start in self._faulty:  # one fault must not bring others with it
            return frozenset(self._entries)
        found: set[str] = set()
        pending = [need.action for need in self.after(entry)]
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                known = self._ended.get(name)
                found |= known or frozenset()
                pending += self._before.get(name, []) if known is None else []
        ended = frozenset(found)
        self._ended[_name(entry) or ""] = ended
        return ended

    # -- reading --------------------------------------------------------------------------------

    def _needs(self, entry: ActionEntry) -> dict[str, Predecessor]:
        found: dict[str, Predecessor] = {}
        reported = len(self._context.report.found)
        for name, wants in self._pairs(entry.after, "an action's id, a list of them, or a mapping"):
            if name.value not in self._entries:
                self._context.unknown(
                    "unknown-predecessor",
                    "other action of this rule",
                    name,
                    [other for other in self._entries if other != _name(entry)],
                )
            elif name.value in found:
                self._context.error("bad-value", f"'{name.value}' is given twice", name)
            else:
                found[name.value] = Predecessor(name.value, wants)
        if len(self._context.report.found) > reported:
            self._faulty.add(entry.node.start)
        return found

    def _pairs(self, node: Node | None, expected: str) -> Iterator[tuple[SourceText, Wanted]]:
        if node is None:
            return
        if isinstance(node, Scalar) and not means_nothing(node):
            yield SourceText(node.value, node), "succeeded"
        elif isinstance(node, Mapping):
            yield from self._wanted(node)
        elif isinstance(node, List) and expected != "an action's id or a mapping":
            for item in node.items:
                yield from self._pairs(item, "an action's id or a mapping")
        else:
            self._context.error("wrong-type", f"expected {expected}, found {described(node)}", node)

    def _wanted(self, node: Mapping) -> Iterator[tuple[SourceText, Wanted]]:
        for key, value in node:
            word = value.value if isinstance(value, Scalar) else ""
            if word in _ENDS:
                yield SourceText(key.value, key), word  # type: ignore[misc]
                continue
            message = "expected " + " or ".join(f"'{end}'" for end in _ENDS)
            hint = self._context.suggest.hint(word, _ENDS)
            self._context.error("unknown-value", message, value, hint)

    # -- cycles ---------------------------------------------------------------------------------

    def _cycles(self) -> None:
        """Every action that waits for itself is reported once, with its circle."""
        reported: set[str] = set()
        suspects = self._suspects() if any(self._before.values()) else ()
        for name, entry in self._entries.items():
            circle = self._circle(name) if name in suspects and name not in reported else []
            if circle and not reported & set(circle):
                reported |= set(circle)
                shown = " after ".join([*circle, circle[0]])
                self._context.error(
                    "chain-cycle", f"an action would wait for itself: {shown}", entry.at("after")
                )

    def _suspects(self) -> set[str]:
        """Actions that stand in a circle or behind one: all others can be put in an order."""
        sorter, suspects = TopologicalSorter(self._before), set(self._before)
        with suppress(CycleError):
            sorter.prepare()
        while ordered := sorter.get_ready():
            sorter.done(*ordered)
            suspects -= set(ordered)
        return suspects

    def _circle(self, start: str) -> list[str]:
        """The shortest way from an action back to itself."""
        came: dict[str, str] = {}
        pending = [start]
        for name in pending:
            for before in self._before.get(name, []):
                if before == start:
                    way = [name]
                    while way[-1] != start:
                        way.append(came[way[-1]])
                    return way[::-1]
                if before not in came:
                    came[before] = name
                    pending.append(before)
        return []


def _name(entry: ActionEntry) -> str | None:
    if (named := entry.id or entry.use) is not None:
        return named.value
    return next((kind for kind in SCHEMAS if entry.has(kind)), None)


def concurrency(
    context: LoadContext, language: Language, entry: ConcurrencyEntry | None, roots: frozenset[str]
) -> Concurrency | None:
    """A rule's concurrency group."""
    if entry is None:
        return None
    place = ExpressionSite("'group'", roots, null="such runs then take no turns")
    value = None if entry.group is None else language.expression(entry.group, place)
    limit = 1 if entry.limit is None else entry.limit
    if not 1 <= limit <= LIMIT_MAX:
        context.error("bad-value", f"'limit' is a number from 1 to {LIMIT_MAX}", entry.at("limit"))
    busy, dead = entry.on_busy or "queue", entry.on_dead or "continue"
    if dead == "halt" and busy != "queue":
        context.error(
            "halt-without-queue",
            f"'on_dead: halt' keeps a queue waiting, and 'on_busy: {busy}' has none",
            entry.at("on_dead"),
        )
    return None if value is None else Concurrency(value, Group(limit, busy, dead))
