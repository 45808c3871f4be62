"""Rules that are published for all nodes of a store: followed, and changed by all together."""

from collections.abc import Awaitable, Callable

from router.clock import Clock
from router.errors import StoreUnavailable
from router.log import Log
from router.rules.live import LiveRef, LiveRuleset
from router.store.reads import StoreReads
from router.store.values import Generation, Publication

POLL_S = 1.0
AGAIN_S = 10.0
"""After so long a publication that this node could not follow is tried again."""
AGREE_MS = 60_000
"""After so long a publication is in force wherever it can be, whoever lags."""
LOOK_S = 0.25


class PublishedRules:
    """
    Follows what is published: `follow` is given the generation to build next, `reload` puts it in
    force. Before that, `agreed` waits until every living node holds it ready, or has it, or its
    publication is `AGREE_MS` old.
    """

    def __init__(
        self,
        live: LiveRef,
        reads: StoreReads,
        *,
        follow: Callable[[Generation], object],
        clock: Clock,
        log: Log,
    ) -> None:
        self._live, self._reads, self._follow = live, reads, follow
        self._clock, self._log = clock, log
        self._newest: Publication | None = None
        self._again_at = 0.0
        self.ready_for = ""
        """The generation that this node could put in force."""

    async def run(self, reload: Callable[[], Awaitable[object]]) -> None:
        """Follow for ever."""
        while True:
            await self._clock.sleep(POLL_S)
            try:
                await self.look(reload)
            except StoreUnavailable as error:
                self._log.warning("what is published cannot be asked", error=str(error))

    async def look(self, reload: Callable[[], Awaitable[object]]) -> None:
        """Follow what is published now. Raises StoreUnavailable."""
        newest = await self._reads.published()
        if newest is None or newest.generation == self._in_force():
            return
        if newest == self._newest and self._clock.monotonic() < self._again_at:
            return
        self._newest, self._again_at = newest, self._clock.monotonic() + AGAIN_S
        if (kept := await self._reads.generation(newest.generation)) is None:
            self._log.error("a published generation is not in the store", seq=newest.seq)
            return
        self._log.info("rules were published", generation=kept.id, seq=newest.seq, by=newest.by)
        self._follow(kept)
        await reload()

    def unready(self) -> str | None:
        """Why no delivery is to be sent here: others route by rules that this node has not."""
        newest = self._newest
        if newest is None or newest.generation == self._in_force() or self._is_young(newest):
            return None
        return f"the rules published as number {newest.seq} are not in force here: see the log"

    async def agreed(self, new: LiveRuleset) -> None:
        """Wait until a generation may be in force here."""
        self.ready_for = id_ = new.ruleset.generation
        while self._is_newest(id_) and not await self._all_have(id_):
            await self._clock.sleep(LOOK_S)

    def _is_newest(self, id_: str) -> bool:
        """Whether its publication is known and young: nobody waits for anything else."""
        newest = self._newest
        if newest is None or newest.generation != id_ or id_ == self._in_force():
            return False
        return self._is_young(newest)

    def _is_young(self, publication: Publication) -> bool:
        return self._clock.now() - publication.at < AGREE_MS

    async def _all_have(self, id_: str) -> bool:
        nodes = [one.card for one in await self._reads.nodes() if not one.gone]
        return all(id_ in (card.generation, card.ready_for) for card in nodes)

    def _in_force(self) -> str:
        return self._live.current.ruleset.generation
