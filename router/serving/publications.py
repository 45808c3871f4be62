"""Rules that are published for all nodes of a store: followed, and changed by all together."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from router.clock import Clock
from router.errors import RouterError
from router.log import Log
from router.rules.live import LiveRef
from router.serving.store_outage import StoreOutage
from router.store.common.publications import AGREE_MS
from router.store.reads import StoreReads
from router.store.values import Generation, Publication

POLL_S = 0.5
AGAIN_S = 10.0
"""After so long a publication that this node could not follow is tried again."""


class PublishedRules:
    """
    Follows what is published. What this node can compile it says to be ready for; once every living
    node is, or has it, or the publication is `AGREE_MS` old, it comes into force: `follow` is given
    the generation to build from now on, and `reload` builds it. What cannot be compiled here is
    tried at once, so that a failed reload tells why.
    """

    def __init__(
        self,
        live: LiveRef,
        reads: StoreReads,
        *,
        compile_: Callable[[Generation], Awaitable[object]],
        follow: Callable[[Generation], object],
        clock: Clock,
        log: Log,
    ) -> None:
        self._live, self._reads = live, reads
        self._compile, self._follow = compile_, follow
        self._clock, self._log = clock, log
        self.newest: Publication | None = None
        """What was published last, as far as is known."""
        self.ready_for = ""
        """The generation that this node could put in force."""
        self._next: Generation | None = None
        self._failed = 0
        self._again_at = 0.0

    async def run(self, reload: Callable[[], Awaitable[object]]) -> None:
        """Follow for ever."""
        outage = StoreOutage(self._log, "what is published cannot be asked")
        while True:
            with outage:
                await self.look(reload)
            await self._clock.sleep(POLL_S)

    async def look(self, reload: Callable[[], Awaitable[object]]) -> None:
        """Follow what is published now. Raises StoreUnavailable."""
        self.newest = newest = await self._reads.published()
        if newest is None or newest.generation == self._in_force():
            return
        if newest.seq == self._failed and self._clock.monotonic() < self._again_at:
            return
        if self._next is None or self._next.id != newest.generation:
            self._next = await self._fetched(newest)
        if self._next is not None:
            if self.ready_for == self._next.id and not await self._is_due(newest):
                return
            await self._put_in_force(self._next, reload)
        if newest.generation != self._in_force():
            self._next = None
            self._failed, self._again_at = newest.seq, self._clock.monotonic() + AGAIN_S

    def unready(self) -> str | None:
        """Why no delivery is to be sent here: others route by rules that this node has not."""
        newest = self.newest
        if newest is None or newest.generation == self._in_force() or self._is_young(newest):
            return None
        return f"the rules published as number {newest.seq} are not in force here: see the log"

    async def _fetched(self, newest: Publication) -> Generation | None:
        """It, and this node is ready for it if it compiles here; None: it is not there."""
        if (kept := await self._reads.generation(newest.generation)) is None:
            self._log.error("a published generation is not in the store", seq=newest.seq)
            return None
        self._log.info("rules were published", generation=kept.id, seq=newest.seq, by=newest.by)
        with suppress(RouterError):  # the reload says why
            await self._compile(kept)
            self.ready_for = kept.id
        return kept

    async def _put_in_force(
        self, kept: Generation, reload: Callable[[], Awaitable[object]]
    ) -> None:
        """Or leave in force what is, for later reloads too."""
        former = await self._reads.generation(self._in_force())
        self._follow(kept)
        await reload()
        if former is not None and self._in_force() == former.id:
            self._follow(former)

    async def _is_due(self, newest: Publication) -> bool:
        return not self._is_young(newest) or await self._all_have(newest.generation)

    def _is_young(self, publication: Publication) -> bool:
        return self._clock.now() - publication.at < AGREE_MS

    async def _all_have(self, id_: str) -> bool:
        nodes = [one.card for one in await self._reads.nodes() if not one.gone]
        return all(id_ in (card.generation, card.ready_for) for card in nodes)

    def _in_force(self) -> str:
        return self._live.current.ruleset.generation
