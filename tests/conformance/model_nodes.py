"""What the model knows of nodes: which live, which are gone, who has which claim."""

from msgspec.structs import replace

from router.clock import Clock
from router.store.values import Beats, NodeCard, NodeSeen


class ModelNodes:
    """Several nodes on one ledger. The clock is the store's."""

    shared = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._nodes: dict[str, NodeSeen] = {}
        self._claims: dict[str, tuple[str, int]] = {}

    async def join(self, card: NodeCard) -> str:
        number = str(len(self._nodes) + 1)
        self._nodes[number] = NodeSeen(number, card, 0, self._clock.now())
        return number

    def lives(self, node: str) -> bool:
        return node in self._nodes and not self._nodes[node].gone

    async def beat(self, node: str, card: NodeCard) -> Beats | None:
        if not self.lives(node):
            return None
        now, seen = self._clock.now(), self._nodes[node]
        self._nodes[node] = replace(
            seen, card=card, beats=seen.beats + 1, last_beat_at=now, closed=False
        )
        others = [one for one in self._nodes.values() if not one.gone and one.number != node]
        return Beats(now, tuple(others))

    async def declare_gone(self, node: str, beats: int) -> bool:
        if self.lives(node) and self._nodes[node].beats == beats:
            self._nodes[node] = replace(self._nodes[node], gone=True)
        return not self.lives(node)

    async def claim(self, name: str, node: str, ttl_ms: int) -> bool:
        now = self._clock.now()
        holder, until = self._claims.get(name, (node, 0))
        taken = holder != node and until > now and self.lives(holder)
        if taken or not self.lives(node):
            return False
        self._claims[name] = node, now + ttl_ms
        return True

    async def nodes(self) -> tuple[NodeSeen, ...]:
        return tuple(self._nodes.values())

    def close_connection(self, node: str) -> None:
        """As if the process had died."""
        self._nodes[node] = replace(self._nodes[node], closed=True)
