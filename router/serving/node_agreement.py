"""Routers of one database that have other secrets than those of the same rules."""

from collections.abc import Iterable, Sequence

from router.store.values import Fingerprints, NodeSeen


def differing_secrets(here: NodeSeen, others: Iterable[NodeSeen]) -> str | None:
    """
    Which secrets of this node are wrong, in words; None: none. Of the living nodes of one
    generation the one that agrees with most of them is right, then the oldest: so there is always
    one that is ready.
    """
    generation = here.card.generation
    nodes = [here, *(one for one in others if one.card.generation == generation)]
    right = min(nodes, key=lambda one: (_against(one, nodes), int(one.number)))
    names = _unlike(here.card.secrets, right.card.secrets)
    if not names:
        return None
    listed = ", ".join(f"secrets.{name}" for name in names)
    return f"not the same as on {right.card.name} (#{right.number}): {listed}"


def _against(one: NodeSeen, nodes: Sequence[NodeSeen]) -> int:
    return sum(bool(_unlike(one.card.secrets, other.card.secrets)) for other in nodes)


def _unlike(one: Fingerprints, other: Fingerprints) -> list[str]:
    """A secret may move within its list, as in a rotation: then one side knows the other's."""
    if one == other:
        return []
    pairs = ((name, one.get(name), other.get(name)) for name in sorted({*one, *other}))
    return [n for n, a, b in pairs if not (a and b and (a[0] in b or b[0] in a))]
