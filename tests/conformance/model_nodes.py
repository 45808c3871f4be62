"""What the model knows of nodes: which live, which are gone, who has which claim and share."""

from collections import Counter

from msgspec.structs import replace

from router.clock import Clock
from router.model.share import NO_REPORT, Division, ShareReport, ShareRow, Shares
from router.store.values import NEW_MS, Beats, Heard, NodeCard, NodeLoad, NodeSeen


class ModelNodes:
    """Several nodes on one ledger. The clock is the store's."""

    shared = True
    fingerprint_key = bytes(32)

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._nodes: dict[str, NodeSeen] = {}
        self._claims: dict[str, tuple[str, int]] = {}
        self._reports: dict[str, ShareReport] = {}
        self._shares: dict[str, ShareRow] = {}

    async def join(self, card: NodeCard) -> str:
        number = str(len(self._nodes) + 1)
        self._nodes[number] = NodeSeen(number, card, 0, self._clock.now())
        return number

    def lives(self, node: str) -> bool:
        return node in self._nodes and not self._nodes[node].gone

    async def beat(
        self, node: str, card: NodeCard, report: ShareReport = NO_REPORT
    ) -> Beats | None:
        if not self.lives(node):
            return None
        self._reports[node] = report
        now, seen = self._clock.now(), self._nodes[node]
        self._nodes[node] = replace(
            seen, card=card, beats=seen.beats + 1, last_beat_at=now, closed=False
        )
        others = [one for one in self._nodes.values() if not one.gone and one.number != node]
        shares = self._shares[node].shares if node in self._shares else None
        told = None if shares is None or shares.version == report.version else shares
        return Beats(now, tuple(others), told)

    async def declare_gone(self, node: str, beats: int) -> bool:
        if self.lives(node) and self._nodes[node].beats <= beats:
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

    def listen(self, heard: Heard) -> None:
        """Whoever listens must ask all the same."""

    async def divide(
        self, node: str, division: Division, *, generation: str, ttl_ms: int
    ) -> Shares | None:
        if not self._holds(generation, 0) or not await self.claim("shares", node, ttl_ms):
            return None
        rows = []
        for one in self._nodes:
            row, gone = self._shares.get(one, ShareRow(one)), not self.lives(one)
            if not gone or (one in self._shares and self._holds_leases(one)):
                rows.append(replace(row, report=self._reports.get(one, NO_REPORT), gone=gone))
        self._shares = {row.node: row for row in (*rows, *division(rows)) if row.shares.version}
        return self._shares[node].shares if node in self._shares else Shares()

    def _holds(self, generation: str, new_ms: int = NEW_MS) -> bool:
        """Whether this generation is in force, of those whose nodes live or may follow yet."""
        del generation, new_ms
        return True

    def _holds_leases(self, node: str) -> bool:
        """Whether jobs run under leases of this node."""
        del node
        return False

    async def nodes(self) -> tuple[NodeSeen, ...]:
        return tuple(self._nodes.values())

    async def node_loads(self) -> dict[str, NodeLoad]:
        runs = self._running()
        return {
            node: NodeLoad(self._shares.get(node, ShareRow(node)).shares.given, runs.get(node, {}))
            for node in {*self._shares, *runs}
        }

    def _running(self) -> dict[str, Counter[str]]:
        """How many jobs of each target run on each node."""
        return {}

    def close_connection(self, node: str) -> None:
        """As if the process had died."""
        self._nodes[node] = replace(self._nodes[node], closed=True)
