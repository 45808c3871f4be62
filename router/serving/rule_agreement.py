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
        by_generation = await self._generations()
        if len(by_generation) < 2:
            self._since, self._said = None, False
            return
        if self._since is None:
            self._since = self._clock.ledger()
        if self._said or self._clock.ledger() - self._since < DIFFER_MS:
            return
        newest = await self._reads.published()
        identity = f"{EVENT}/{newest.seq if newest else 0}"  # for every node that looks
        payload = {
            "generations": [
                {"generation": id_, "nodes": nodes} for id_, nodes in by_generation.items()
            ],
            "in_force": newest.generation if newest else None,
            "minutes": DIFFER_MS // 60_000,
            "since": timestamp(self._since + self._clock.offset),
        }
        await self._send(EVENT, identity, payload)
        self._said = True
        told = " / ".join(f"{id_[:12]}: {', '.join(on)}" for id_, on in by_generation.items())
        self._log.warning("nodes route by different rules", nodes=told)

    async def _generations(self) -> Mapping[str, list[str]]:
        """The names of the living nodes by the generation that each routes by, in order."""
        found: dict[str, list[str]] = {}
        for node in await self._reads.nodes():
            if not node.gone:
                found.setdefault(node.card.generation, []).append(node.card.name)
        return {generation: sorted(found[generation]) for generation in sorted(found)}
