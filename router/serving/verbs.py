"""What the admin door can ask of the running router; JSON objects in and out."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from router import __version__
from router.clock import Clock
from router.errors import NotFound, StoreUnavailable, UsageError
from router.model.operations import Planned, Replay
from router.model.target import TargetRow
from router.operator import LOCAL, By, Operator, ReplayRequest
from router.provider_calls.subscriptions import is_subscription
from router.refusals import Refusals
from router.rules.live import LiveRef
from router.serving import retention
from router.serving.targets import TargetDesk
from router.store.protocol import Store
from router.store.values import Selector

_SELECTOR = (
    "endpoint", "rule", "event", "state", "since", "until", "limit", "where", "replay", "cause",
)  # fmt: skip
PATH_MAX = 4_096
READY_S = 2.0
"""A store that needs longer for one small commit is not ready: whoever asks waits 3 s or less."""
_DRY_RUN = frozenset({"dry_run"})
_REPLAY = frozenset({"recorded", "dry_run", "rate", "name", "again"})


class ReloadState(msgspec.Struct):
    """
    How the last reload went; times in Unix milliseconds, `error` the diagnostics as text.

    `succeeded_at` is when the rules in force were read, `failures` how many reloads failed since,
    `changes` what the last one that changed anything changed, by names. `unread` is why the last
    one could not even read the files, for now: that says nothing about the rules.
    """

    ok: bool = True
    at: int = 0
    error: str | None = None
    succeeded_at: int = 0
    failures: int = 0
    changes: dict[str, Any] = {}
    unread: str | None = None


class Verbs:
    """The operator's verbs over JSON, shared by the admin door and the offline command line."""

    def __init__(
        self,
        *,
        operator: Operator,
        store: Store,
        live: LiveRef,
        clock: Clock,
        refusals: Callable[[int], list[dict[str, Any]]],
        reload: Callable[[], Awaitable[bool]],
        reload_state: ReloadState,
        full: Callable[[], bool] = lambda: False,
    ) -> None:
        self._full = full
        self._operator = operator
        self._store = store
        self._clock = clock
        self._live = live
        self._refusals = refusals
        self._reload = reload
        self._reload_state = reload_state
        self._started_at = clock.now()
        self._beat: asyncio.Future[None] | None = None
        self.draining = False
        self.watched: Callable[[str, str], dict[str, Any] | None] = lambda _job, _after: None
        """What a running job has written; nothing runs where no server does."""
        self.more: Callable[[], dict[str, Any]] = dict  # what else a status page may tell
        self.holds: Callable[[], bool] = lambda: False
        self.kept = Refusals()
        self.desk: TargetDesk
        """Set by whoever puts the parts together."""

    async def ready(self) -> bool:
        """Whether a delivery could be committed now."""
        if self.draining or self._full():
            return False
        if self._beat is None or self._beat.done():
            self._beat = asyncio.ensure_future(self._store.ready())
            self._beat.add_done_callback(_heard)
        beat = self._beat  # one for all who ask while the disk hangs
        late = asyncio.ensure_future(self._clock.sleep(READY_S))
        await asyncio.wait({beat, late}, return_when=asyncio.FIRST_COMPLETED)
        late.cancel()
        return beat.done() and _committed(beat)

    async def status(self) -> dict[str, Any]:
        """What runs here."""
        ruleset = self._live.current.ruleset
        states: dict[str, int] = {}
        for counts in (await self._store.reads.counts()).values():
            for state, number in counts.items():
                states[state] = states.get(state, 0) + number
        return {
            "version": __version__,
            "generation": ruleset.generation,
            "started_at": self._started_at,
            "endpoints": sorted(ruleset.endpoints),
            "store": {"path": ruleset.server.store, "bytes": await self._store.reads.size()},
            "jobs": states,
            "reload": msgspec.structs.asdict(self._reload_state),
            **self.more(),
        }

    def refusals(self, limit: int) -> list[dict[str, Any]]:
        """The newest refused requests, newest first."""
        return self._refusals(limit)

    def refusal(self, wanted: str, endpoint: str | None) -> dict[str, Any]:
        """
        One refused request, whole, by its id; `last`: the newest.

        Raises:
            NotFound: it is not kept.
        """
        kept = self.kept.get(wanted, endpoint)
        request = kept.request
        return {
            "id": kept.id,
            "at": kept.at,
            "endpoint": kept.endpoint,
            "reason": kept.reason,
            "method": request.method,
            "path": request.raw_path.decode("latin-1"),
            "query": request.query_string.decode("latin-1"),
            "headers": [[n.decode("latin-1"), v.decode("latin-1")] for n, v in request.headers],
            "body_base64": request.body,
            "body_bytes": kept.body_bytes,
            "cut": kept.cut,
        }

    def output(self, job: str, after: str) -> dict[str, Any]:
        """What a job's command has written since `after`, while it runs here."""
        found = self.watched(job, after)
        return {"running": False} if found is None else {"running": True, **found}

    async def replay(self, body: Mapping[str, Any], by: By = LOCAL) -> dict[str, Any]:
        """
        Make new jobs from stored work, or tell what that would be; see `Operator.replay`.

        `state` is `making` if that takes longer than an answer may: `replayed` tells the rest.
        """
        ids, selector = _wanted(body, _REPLAY)
        given = {name: body[name] for name in ("recorded", "rate", "name", "again") if name in body}
        try:
            asked = msgspec.convert({**given, "ids": ids}, ReplayRequest)
        except msgspec.ValidationError as error:
            raise UsageError(f"replay: {error}") from None
        asked = msgspec.structs.replace(asked, selector=selector)
        if body.get("dry_run"):
            planned, frozen = await self._operator.plan(asked)
            return await self._plan(planned, frozen.selector)
        return await self._told(await self._operator.replay(asked, by))

    async def replayed(self, id_: str) -> dict[str, Any]:
        """How far a replay is. Raises NotFound."""
        replay = await self._store.reads.replay(id_)
        if replay is None:
            raise NotFound(f"no replay {id_}")
        return await self._told(replay)

    async def _told(self, replay: Replay) -> dict[str, Any]:
        """A replay as its operator sees it; `last_due_at` is when its pace ends."""
        due = [int(at) for at in replay.due.values()]
        return {
            "dry_run": False,
            "id": replay.id,
            "state": replay.state,
            "deliveries": replay.deliveries,
            "jobs": replay.jobs,
            "skipped": replay.skipped,
            "passed": replay.passed,
            "earlier": await self._earlier(replay.earlier),
            "created_at": replay.created_at,
            "last_due_at": max(due, default=None),
        }

    async def _earlier(self, job: str | None) -> dict[str, Any] | None:
        """The replay that made a job that this one passed over for, and when it was begun."""
        replay = None if job is None else await self._store.reads.made_by(job)
        return None if replay is None else {"id": replay.id, "at": replay.created_at}

    async def cancel(self, body: Mapping[str, Any], by: By = LOCAL) -> dict[str, Any]:
        """Cancel waiting work, or tell what that would be."""
        wanted = _wanted(body, _DRY_RUN)
        if body.get("dry_run"):
            return await self._plan(*await self._operator.planned("cancel", *wanted))
        return {"cancelled": await self._operator.cancel(*wanted, by)}

    async def revive(self, body: Mapping[str, Any], by: By = LOCAL) -> dict[str, Any]:
        """
        Make dead jobs available again, or tell what that would be. `passed` and `earlier` tell of
        those that a replay has made again, `newer` of those among the named ones.
        """
        wanted = _wanted(body, _DRY_RUN)
        newer = {id_: [j.id, j.state] for id_, j in (await self._operator.newer(wanted[0])).items()}
        planned, frozen = await self._operator.planned("revive", *wanted)
        if body.get("dry_run"):
            return {**await self._plan(planned, frozen), "newer": newer}
        revived = await self._operator.revive(*wanted, by)
        earlier = await self._earlier(planned.earlier)
        return {"revived": revived, "passed": planned.passed, "earlier": earlier, "newer": newer}

    async def _plan(self, planned: Planned, selector: Selector | None) -> dict[str, Any]:
        """The plan; with `until` in its selector a verb does exactly that."""
        told = msgspec.to_builtins(planned)
        until = None if selector is None else selector.until
        earlier = await self._earlier(planned.earlier)
        return {**told, "dry_run": True, "until": until, "earlier": earlier}

    async def remember(self, body: Mapping[str, Any], by: By = LOCAL) -> dict[str, Any]:
        """
        Keep what the command line found out, so that it need not wait for the store's lock.

        Raises:
            UsageError: these are no facts about subscriptions.
        """
        facts = body.get("facts")
        if not isinstance(facts, dict) or not all(map(is_subscription, facts.items())):
            raise UsageError("facts are subscriptions by name")
        await self._operator.remember(facts, by)
        return {"remembered": len(facts)}

    async def backed_up(self, body: Mapping[str, Any], by: By = LOCAL) -> dict[str, Any]:
        """Note in the audit a backup that was made beside the server."""
        asked = {"path": str(body["path"])[:PATH_MAX], "bytes": body["bytes"]}
        await self._operator.note("backup", asked, by, 0)
        return {"noted": 1}

    async def targets(self) -> tuple[TargetRow, ...]:
        """Every target, as it stands."""
        return await self.desk.rows()

    async def pause(self, body: Mapping[str, Any], by: By = LOCAL) -> dict[str, Any]:
        """Call a target no more until it is resumed."""
        return await self.desk.pause(body, by)

    async def resume(self, body: Mapping[str, Any], by: By = LOCAL) -> dict[str, Any]:
        """Call a paused or open target again."""
        return await self.desk.resume(body, by)

    async def prune(self, body: Mapping[str, Any], by: By = LOCAL) -> dict[str, Any]:
        """
        A bounded piece of retention, now; `more`: ask again.

        Raises:
            UsageError: `older_than` is no number of milliseconds, or the clock was set far on.
        """
        older_than = body.get("older_than")
        if set(body) - {"older_than"}:
            raise UsageError("prune takes older_than")
        if older_than is not None and (type(older_than) is not int or older_than < 0):
            raise UsageError("older_than is a number of milliseconds")
        if self.holds():
            raise UsageError("the clock was set on by more than a day: nothing is removed yet")
        keep = self._live.current.ruleset.server.retention
        wish = retention.wished(keep, self._clock.now(), older_than)
        done, more = await retention.prune(self._store, wish, clock=self._clock)
        await self._operator.note("prune", dict(body), by, done.deliveries)
        return {**msgspec.structs.asdict(done), "more": more}

    async def reload(self, by: By = LOCAL) -> dict[str, Any]:
        """
        Read the rules file again.

        Raises:
            UsageError: it is wrong; the text holds the diagnostics, the old one stays in force.
                Or it cannot be read now.
        """
        changed = await self._reload()
        if self._reload_state.unread is not None:
            raise UsageError(f"the rules file cannot be read now: {self._reload_state.unread}")
        if not self._reload_state.ok:
            raise UsageError(self._reload_state.error or "the rules file is wrong")
        generation = self._live.current.ruleset.generation
        if changed:
            await self._operator.note("reload", {"generation": generation}, by, 1)
        return {"generation": generation, "changed": changed}


def _wanted(
    body: Mapping[str, Any], more: frozenset[str] = frozenset()
) -> tuple[list[str], Selector | None]:
    unknown = set(body) - {"ids", "selector", *more}
    if unknown:
        raise UsageError(f"unknown key {sorted(unknown)[0]!r}")
    ids = body.get("ids") or []
    if not isinstance(ids, list | tuple) or not all(isinstance(i, str) for i in ids):
        raise UsageError("ids must be a list of texts")
    raw = body.get("selector")
    if raw is None:
        return list(ids), None
    if not isinstance(raw, dict) or set(raw) - set(_SELECTOR):
        raise UsageError(f"selector takes {', '.join(_SELECTOR)}")
    try:
        given = {k: v for k, v in raw.items() if v is not None}
        return list(ids), msgspec.convert(given, Selector)
    except msgspec.ValidationError as error:
        raise UsageError(f"selector: {error}") from None


def _committed(beat: "asyncio.Future[None]") -> bool:
    try:
        beat.result()
    except StoreUnavailable:
        return False
    return True


def _heard(beat: "asyncio.Future[None]") -> None:
    """Whoever asked may have gone: an error that nobody looks at is no news."""
    if not beat.cancelled():
        beat.exception()
