"""What the admin door can ask of the running router; JSON objects in and out."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from router import __version__
from router.clock import Clock
from router.errors import StoreUnavailable, UsageError
from router.replay import Operator
from router.rules.live import LiveRef
from router.store.protocol import Selector, Store

_SELECTOR = ("endpoint", "rule", "event", "state", "since", "until", "limit")


class ReloadState(msgspec.Struct):
    """How the last reload went; `at` in Unix milliseconds, `error` the diagnostics as text."""

    ok: bool = True
    at: int = 0
    error: str | None = None


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
        self._live = live
        self._refusals = refusals
        self._reload = reload
        self._reload_state = reload_state
        self._started_at = clock.now()
        self.draining = False

    async def ready(self) -> bool:
        """Whether a delivery could be committed now."""
        if self.draining or self._full():
            return False
        try:
            await self._store.ready()
        except StoreUnavailable:
            return False
        return True

    async def status(self) -> dict[str, Any]:
        """What runs here."""
        ruleset = self._live.current.ruleset
        states: dict[str, int] = {}
        for counts in (await self._store.counts()).values():
            for state, number in counts.items():
                states[state] = states.get(state, 0) + number
        return {
            "version": __version__,
            "generation": ruleset.generation,
            "started_at": self._started_at,
            "endpoints": sorted(ruleset.endpoints),
            "store": {"path": ruleset.server.store, "bytes": await self._store.size()},
            "jobs": states,
            "reload": msgspec.structs.asdict(self._reload_state),
        }

    def refusals(self, limit: int) -> list[dict[str, Any]]:
        """The newest refused requests, newest first."""
        return self._refusals(limit)

    async def replay(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make new jobs from stored work; see `Operator.replay`."""
        ids, selector = _wanted(body)
        done = await self._operator.replay(
            ids,
            selector,
            recorded=bool(body.get("recorded")),
            dry_run=bool(body.get("dry_run")),
        )
        return msgspec.structs.asdict(done)

    async def cancel(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Cancel waiting work."""
        return {"cancelled": await self._operator.cancel(*_wanted(body))}

    async def revive(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make dead jobs available again."""
        return {"revived": await self._operator.revive(*_wanted(body))}

    async def reload(self) -> dict[str, Any]:
        """
        Read the rules file again.

        Raises:
            UsageError: it is wrong; the text holds the diagnostics, the old one stays in force.
        """
        changed = await self._reload()
        if not self._reload_state.ok:
            raise UsageError(self._reload_state.error or "the rules file is wrong")
        return {"generation": self._live.current.ruleset.generation, "changed": changed}


def _wanted(body: Mapping[str, Any]) -> tuple[list[str], Selector | None]:
    unknown = set(body) - {"ids", "selector", "recorded", "dry_run"}
    if unknown:
        raise UsageError(f"unknown key {sorted(unknown)[0]!r}")
    ids = body.get("ids") or []
    if not isinstance(ids, list) or not all(isinstance(i, str) for i in ids):
        raise UsageError("ids must be a list of texts")
    raw = body.get("selector")
    if raw is None:
        return ids, None
    if not isinstance(raw, dict) or set(raw) - set(_SELECTOR):
        raise UsageError(f"selector takes {', '.join(_SELECTOR)}")
    try:
        given = {k: v for k, v in raw.items() if v is not None}
        return ids, msgspec.convert({"limit": 10_000, **given}, Selector)
    except msgspec.ValidationError as error:
        raise UsageError(f"selector: {error}") from None
