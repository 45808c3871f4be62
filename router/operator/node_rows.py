"""Nodes of a shared store: what each says of itself, and what the others see of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from router.legible import span
from router.model.share import NO_SHARE
from router.store.values import LATE_S, STOPPING, NodeLoad, NodeSeen


class NodeShare(msgspec.Struct, frozen=True):
    """
    What a node may use of a target's limits: jobs at once, and starts a second (None: no rate is
    set); and how many jobs of it run there.
    """

    target: str
    concurrency: int
    rate: float | None
    running: int


class NodeRow(msgspec.Struct, frozen=True):
    """
    A node. It routes by `generation`; `skew_ms` is by how much its machine's clock is ahead of the
    store's, `unready` why it is to get no requests (None: it may). `lost`: it is gone, nobody
    stopped it, and no other runs in its place. `shares` go by the names of their targets.
    """

    name: str
    number: str
    version: str
    generation: str
    started_at: int | None
    last_beat_at: int
    beat_age_ms: int
    skew_ms: int
    gone: bool
    lost: bool
    unready: str | None
    running: int
    shares: tuple[NodeShare, ...]


class NodeList(msgspec.Struct, frozen=True):
    """
    The nodes that share the store, in the order in which they joined, and those that were gone
    within the last hour. `in_force` is the generation that was put in force last.
    """

    nodes: tuple[NodeRow, ...]
    in_force: str | None

    @property
    def differ(self) -> bool:
        """Whether those that are not gone route by different rules."""
        return len({node.generation for node in self.nodes if not node.gone}) > 1


def node_rows(
    nodes: Sequence[NodeSeen], loads: Mapping[str, NodeLoad], now: int
) -> tuple[NodeRow, ...]:
    """Each with its load, as of `now`, the store's wall time."""
    return tuple([_row(node, loads.get(node.number, NodeLoad()), now, nodes) for node in nodes])


def _row(node: NodeSeen, load: NodeLoad, now: int, nodes: Iterable[NodeSeen]) -> NodeRow:
    card, age = node.card, max(0, now - node.last_beat_at)
    seen = {
        "started_at": card.started_at or None,
        "beat_age_ms": age,
        "lost": node.gone and card.unready != STOPPING and not _followed(node, nodes),
        "unready": _unready(node, age),
        "running": sum(load.running.values()),
        "shares": tuple(_shares(load)),
    }
    known = msgspec.structs.asdict(card) | msgspec.structs.asdict(node) | seen
    return msgspec.convert(known, NodeRow)


def _followed(node: NodeSeen, nodes: Iterable[NodeSeen]) -> bool:
    """Whether this node has joined anew, or another was started in its place."""
    same = [one for one in nodes if one.card.name == node.card.name and one is not node]
    return any(
        one.card.started_at > node.last_beat_at
        or (not one.gone and one.card.started_at == node.card.started_at)
        for one in same
    )


def _unready(node: NodeSeen, age: int) -> str | None:
    """What others see counts more than what it says: that may be long ago."""
    if node.gone:
        return "it is gone"
    return f"its last beat was {span(age)} ago" if age > LATE_S * 1000 else node.card.unready


def _shares(load: NodeLoad) -> Iterator[NodeShare]:
    for target in sorted({*load.given, *load.running}):
        share = load.given.get(target, NO_SHARE)
        yield NodeShare(target, share.concurrency, share.rate, load.running.get(target, 0))
