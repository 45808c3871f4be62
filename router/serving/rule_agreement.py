"""Nodes of one store that route by different rules for too long."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from router.clock import Clock
from router.log import Log
from router.rules.own_events import timestamp
from router.store.reads import StoreReads

DIFFER_MS = 5 * 60_000
"""So long a deployment may take."""
EVENT = "rules.differ"


class RuleAgreement:
    """
    `rules.differ`: for five minutes the living nodes have been routing by different rules.
    It is said once, in the log too, until they agree again; however many nodes see it, and
    however often they restart, it is one event for what was put in force last.
    """

    def __init__(
        self,
        reads: StoreReads,
        send: Callable[[str, str, Mapping[str, Any]], Awaitable[object]],
        *,
        clock: Clock,
        log: Log,
    ) -> None:
        self._reads, self._send, self._clock, self._log = reads, send, clock, log
        self._since: int | None = None
        self._said = False

    async def step(self) -> None:
        """Look at all nodes once. Raises StoreUnavailable."""
        nodes: dict[str, list[str]] = {}
        for node in await self._reads.nodes():
            if not node.gone:
                nodes.setdefault(node.card.generation, []).append(node.card.name)
        if len(nodes) < 2:
            self._since, self._said = None, False
            return
        if self._since is None:
            self._since = self._clock.ledger()
        if self._said or self._clock.ledger() - self._since < DIFFER_MS:
            return
        found = {generation: sorted(nodes[generation]) for generation in sorted(nodes)}
        newest = await self._reads.in_force()
        payload = {
            "generations": [{"generation": id_, "nodes": names} for id_, names in found.items()],
            "in_force": newest.generation if newest else None,
            "minutes": DIFFER_MS // 60_000,
            "since": timestamp(self._since + self._clock.offset),
        }
        await self._send(EVENT, f"{EVENT}/{newest.seq if newest else 0}", payload)
        self._said = True
        told = " / ".join(f"{id_[:12]}: {', '.join(on)}" for id_, on in found.items())
        self._log.warning("nodes route by different rules", nodes=told)
