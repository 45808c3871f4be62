"""The state of the running server, and the reload of its rules file."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from router import __version__
from router.clock import Clock
from router.errors import StoreUnavailable, UsageError
from router.operator.answers import (
    JobOutput,
    RefusalList,
    RefusedRequest,
    Reloaded,
    Resumed,
    ServerState,
    StoreFile,
)
from router.operator.audit import AuditTrail
from router.operator.requests import LOCAL, By
from router.refusals import KeptRefusal, Refusals
from router.rules.live import LiveRef
from router.serving.reload import Reloader
from router.store.protocol import Store
from router.store.values import STOPPING, NodeCard

READY_S = 2.0
"""A store that needs longer for one small commit is not ready: whoever asks waits 3 s or less."""


class LiveParts(NamedTuple):
    """
    What a running server has beside its store: the last refusals, whether the store is `full`,
    what a running job has written since a place, what else its state tells, why this node of a
    shared store is to get no requests (None: it may), and whether it is `held` and runs no job.
    """

    refusals: Refusals
    full: Callable[[], bool]
    written: Callable[[str, str], dict[str, Any] | None]
    more: Callable[[], dict[str, Any]]
    unready: Callable[[], str | None] = lambda: None
    held: Callable[[], bool] = lambda: False
    end_hold: Callable[[], None] = lambda: None


class RunningServer:
    """The running server: whether it is ready, what it is, what it refused, and its rules file."""

    def __init__(
        self,
        *,
        store: Store,
        live: LiveRef,
        clock: Clock,
        audit: AuditTrail,
        reloader: Reloader,
        parts: LiveParts,
    ) -> None:
        self._store = store
        self._live = live
        self._clock = clock
        self._audit = audit
        self._reloader = reloader
        self._parts = parts
        self._started_at = clock.now()
        self._beat: asyncio.Future[None] | None = None
        self._draining = False

    def drain(self) -> None:
        """From now on it is not ready: it stops."""
        self._draining = True

    async def unready(self) -> str | None:
        """Why no delivery could be committed here now, or is to be sent here; None: it is ready."""
        return self._unready() or await self._unwritable()

    def described(self, card: NodeCard, skew_ms: int) -> NodeCard:
        """The card of this node, with how it is now."""
        return msgspec.structs.replace(
            card, started_at=self._started_at, skew_ms=skew_ms, unready=self._unready()
        )

    def _unready(self) -> str | None:
        """The same, as far as it is known without asking the store."""
        if self._draining:
            return STOPPING
        if self._parts.full():
            return "the store is nearly full"
        return self._parts.unready()

    async def _unwritable(self) -> str | None:
        if self._beat is None or self._beat.done():
            self._beat = asyncio.ensure_future(self._store.ready())
            # Who waits for it may have gone: an error that nobody looks at is no news.
            self._beat.add_done_callback(lambda beat: beat.cancelled() or beat.exception())
        beat = self._beat  # one for all who ask while the disk hangs
        late = asyncio.ensure_future(self._clock.sleep(READY_S))
        await asyncio.wait({beat, late}, return_when=asyncio.FIRST_COMPLETED)
        late.cancel()
        with contextlib.suppress(StoreUnavailable):
            if beat.done() and beat.result() is None:
                return None
        return "the store takes no write"

    async def status(self) -> ServerState:
        """The state of this server."""
        ruleset = self._live.current.ruleset
        states: Counter[str] = Counter()
        for counts in (await self._store.reads.counts()).values():
            states.update(counts)
        return ServerState(
            version=__version__,
            generation=ruleset.generation,
            started_at=self._started_at,
            endpoints=sorted(ruleset.endpoints),
            store=StoreFile(str(ruleset.server.store), await self._store.reads.size()),
            jobs=dict(states),
            reload=self._reloader.state,
            held=self._parts.held(),
            **self._parts.more(),
        )

    async def refusals(self, limit: int) -> RefusalList:
        """The newest requests that this router refused, newest first."""
        return RefusalList(self._parts.refusals.recent(limit))

    async def refusal(self, wanted: str, endpoint: str | None) -> RefusedRequest:
        """One refused request, by its id; `last`: the newest. Raises NotFound: it is not kept."""
        return _refused(self._parts.refusals.get(wanted, endpoint))

    async def output(self, job: str, after: str) -> JobOutput:
        """What a job's command has written since `after`, while it runs on this router."""
        found = self._parts.written(job, after)
        return JobOutput(running=False) if found is None else JobOutput(running=True, **found)

    async def reload(self, by: By = LOCAL) -> Reloaded:
        """
        Read the rules file again.

        Raises:
            UsageError: it is wrong, and the previous rules remain active; the text holds the
                diagnostics. Or it cannot be read now.
        """
        changed = await self._reloader.reload()
        if self._reloader.state.unread is not None:
            raise UsageError(f"the rules file cannot be read now: {self._reloader.state.unread}")
        if not self._reloader.state.ok:
            raise UsageError(self._reloader.state.error or "the rules file is wrong")
        generation = self._live.current.ruleset.generation
        if changed:
            await self._audit.note(by, "reload", {"generation": generation}, 1)
        return Reloaded(generation, changed)

    async def resume(self, by: By = LOCAL) -> Resumed:
        """Run jobs, if the router is held."""
        held = self._parts.held()
        if held:
            await self._audit.note(by, "resume", {}, 1)
            self._parts.end_hold()
        return Resumed(held)


def _refused(kept: KeptRefusal) -> RefusedRequest:
    request = kept.request
    shown = {
        "method": request.method,
        "path": request.raw_path.decode("latin-1"),
        "query": request.query_string.decode("latin-1"),
        "headers": [(n.decode("latin-1"), v.decode("latin-1")) for n, v in request.headers],
        "body_base64": request.body,
    }
    return msgspec.convert(msgspec.structs.asdict(kept) | shown, RefusedRequest)
