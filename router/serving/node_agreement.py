"""Routers that go by the same rules, but have other secrets, plugins or scripts."""

from collections.abc import Iterable, Sequence

from router.log import Log
from router.serving.publications import PublishedRules
from router.store.values import NO_LOCAL, Local, NodeSeen

NAMES_SHOWN = 10


class NodeAgreement:
    """
    Compares this node with the living ones of the same generation, whenever it has seen them, and
    with the machine where that was published: `rollout` knows.

    Of nodes that differ one is right: who differs least from what was published, then who agrees
    with most of them, then the oldest. Those that do not agree with it are not ready; so it is
    never all of them.
    """

    def __init__(self, rollout: PublishedRules | None, *, log: Log) -> None:
        self._rollout, self._log = rollout, log
        self._why: str | None = "the other routers have not been seen yet"
        self._said: list[str] = []

    def unready(self) -> str | None:
        """Why this node is to get no requests; None: it may."""
        return self._why

    def compare(self, here: NodeSeen, others: Iterable[NodeSeen]) -> None:
        """`others` live as well."""
        card, newest = here.card, self._rollout.newest if self._rollout else None
        nodes = [here, *(one for one in others if one.card.generation == card.generation)]
        is_ours = newest is not None and newest.generation == card.generation
        published = newest.local if newest and is_ours else NO_LOCAL
        right = min(nodes, key=lambda one: _rank(one, nodes, published))
        self._why = _told(differing(card.local, right.card.local), right.card.name, right.number)
        found = [self._why] if self._why else []
        if newest and (lags := _unlike(published, card.local, published)):
            found.append(f"not as published by {newest.by}: {_listed(lags)}")
        self._say(found)

    def _say(self, found: list[str]) -> None:
        for text in found:
            if text not in self._said:
                self._log.warning("this machine differs", reason=text)
        if self._said and not found:
            self._log.info("this machine differs no more")
        self._said = found


def _told(names: Sequence[str], node: str, number: str) -> str | None:
    return f"not the same as on {node} (#{number}): {_listed(names)}" if names else None


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - NAMES_SHOWN} more"] if len(names) > NAMES_SHOWN else []
    return ", ".join([*names[:NAMES_SHOWN], *more])


def _rank(one: NodeSeen, nodes: Sequence[NodeSeen], published: Local) -> tuple[int, int, int]:
    """The lowest is right."""
    local = one.card.local
    against = sum(bool(differing(local, other.card.local)) for other in nodes)
    return len(_unlike(published, local, published)), against, int(one.number)


def differing(one: Local, other: Local) -> list[str]:
    """The names of what two machines have not in common."""
    return [] if one == other else _unlike(one.keys() | other.keys(), one, other)


def _unlike(names: Iterable[str], one: Local, other: Local) -> list[str]:
    return sorted(name for name in names if not _agree(one.get(name), other.get(name)))


def _agree(one: Sequence[str] | None, other: Sequence[str] | None) -> bool:
    """A secret may move within its list, as in a rotation: then one side knows the other's."""
    if not one or not other:
        return False
    return one[0] in other or other[0] in one
