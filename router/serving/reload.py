"""Reload: the rules file is read aside and swapped as one reference, or nothing changes."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from router.clock import Clock
from router.errors import NO_DESCRIPTOR, ConfigError, RouterError, StoreUnavailable, UsageError
from router.log import Log
from router.metrics import Metrics
from router.model.settings import ServerSettings
from router.operator.answers import ReloadState
from router.rehearsal.diff import rule_changes, setting_changes
from router.rules.live import LiveRef, LiveRuleset
from router.rules.ruleset import Ruleset

POLL_S = 1.0
SETTLE_S = 0.2
SETTLES = 25
"""Looks at files that keep changing, before they are read all the same."""

AGAIN_S = 10.0
"""After so long the same files are read again, if the store could not keep what they say."""

READS = 5
"""How often files that change while they are read are read again."""

NAMES_SHOWN = 50
FINDINGS_SHOWN = 20
# Only a restart applies these.
_NEEDS_RESTART = (
    *("listen", "admin", "admin_hosts", "tls", "admin_tls"),
    *("store", "state_dir"),
)


class ReloadSteps(NamedTuple):
    """
    What a reload is made of.

    `fingerprint` tells cheaply whether files changed (OSError: nobody can tell now); `build` reads,
    checks and resolves the file (it may take seconds and runs in a thread); `prove` runs its tests,
    if they are required; `keep` makes the new generation durable and puts it in force for all
    nodes, before it is here; `after` applies to stored jobs what it says of them; `render` shows
    diagnostics. `begins` and `ends` are called around it.
    """

    fingerprint: Callable[[], str]
    build: Callable[[], LiveRuleset]
    keep: Callable[[LiveRuleset], Awaitable[None]]
    after: Callable[[], Awaitable[object]]
    render: Callable[[ConfigError], str]
    prove: Callable[[LiveRuleset], Awaitable[object]]
    begins: Callable[[], object] = lambda: None
    ends: Callable[[ReloadState], object] = lambda _state: None


class Reloader:
    """Swaps the live ruleset."""

    def __init__(
        self, steps: ReloadSteps, *, live: LiveRef, clock: Clock, log: Log, metrics: Metrics
    ) -> None:
        self._steps = steps
        self._live = live
        self._clock = clock
        self._log = log
        self._metrics = metrics
        self._turn = asyncio.Lock()
        self._is_blind = False
        self._again_at: float | None = None
        self._seen = self._look()  # None: whatever is there has not been seen
        self.state = ReloadState(at=clock.now(), succeeded_at=clock.now())
        self._in_force(live.current, clock.now())

    async def watch(self) -> None:
        """Poll the files every second, by content; reload when they differ and have settled."""
        while True:
            await self._clock.sleep(POLL_S)
            if not self._live.current.ruleset.server.reload.watch:
                continue
            found = await asyncio.to_thread(self._look)
            # Other files, or what the store could not keep.
            again = self._again_at is not None and self._clock.monotonic() >= self._again_at
            due = found is not None and (again or found != self._seen)
            if due and await self._settled(found):
                await self.reload()

    async def _settled(self, found: str | None) -> bool:
        """
        Half of a file may be a right file with half of the rules: wait for the writer. False: it
        cannot be looked at any more.
        """
        for _ in range(SETTLES):
            await self._clock.sleep(SETTLE_S)
            earlier, found = found, await asyncio.to_thread(self._look)
            if found in (None, earlier):
                break
        return found is not None

    def _look(self) -> str | None:
        """What the files are like; None: nobody can tell now, which is said once."""
        try:
            found = self._steps.fingerprint()
        except OSError as error:
            self._blind(error)
            return None
        self._is_blind = False
        return found

    def _blind(self, error: OSError) -> None:
        if not self._is_blind:
            self._log.warning(
                "the rules file cannot be looked at now, the rules in force stay",
                error=error.strerror or str(error),
            )
        self._is_blind = True

    async def reload(self) -> bool:
        """Read the file again; True when another generation is in force now. Never raises."""
        async with self._turn:
            self._steps.begins()
            try:
                return await self._reloaded()
            finally:
                self._steps.ends(self.state)

    async def _reloaded(self) -> bool:
        self.state.unread = self._again_at = None
        try:
            new = await self._built()
            await self._steps.prove(new)
            await self._steps.keep(new)
        except Exception as error:  # noqa: BLE001 - whatever a file brings about, we go on
            self._not_reloaded(error)
            return False
        old = self._live.current
        self._live.swap(new)
        await self._reloaded_to(old.ruleset, new)
        try:
            await self._steps.after()
        except StoreUnavailable as error:  # upkeep does it again in a moment
            self._log.error("jobs of paused rules not yet held", error=str(error))
        return old.ruleset.generation != new.ruleset.generation

    async def _built(self) -> LiveRuleset:
        """
        A generation whose files all are of the same moment.

        Raises:
            RouterError: they are wrong; or they change faster than they can be read.
            OSError: they cannot be looked at now.
        """
        for _ in range(READS):
            self._seen = await asyncio.to_thread(self._steps.fingerprint)
            self._is_blind = False
            try:
                new = await asyncio.to_thread(self._steps.build)
            except RouterError:
                if await asyncio.to_thread(self._steps.fingerprint) == self._seen:
                    raise
            else:
                if await asyncio.to_thread(self._steps.fingerprint) == self._seen:
                    return new
        raise UsageError("the files keep changing while they are read")

    def _not_reloaded(self, error: Exception) -> None:
        """What is no fault of the files is none of the rules: a later look tries again."""
        lack = _lack(error)
        if lack is not None:
            self._seen, self.state.unread = None, lack.strerror or str(lack)
            self._blind(lack)
            return
        if isinstance(error, StoreUnavailable):
            self._again_at = self._clock.monotonic() + AGAIN_S
        ours = isinstance(error, RouterError)
        text = str(error) if ours else f"{type(error).__name__}: {error}"
        if isinstance(error, ConfigError):
            text = self._steps.render(error)
        state = self.state
        state.ok, state.at, state.error = False, self._clock.now(), text
        state.failures += 1
        self._metrics.reload_failed()
        self._log.error(
            "reload failed, the old rules stay in force",
            generation=self._live.current.ruleset.generation,
            diagnostics=text,
            **({} if ours else {"exc_info": error}),
        )

    def _in_force(self, live: LiveRuleset, now: int) -> None:
        self._metrics.in_force(live.ruleset.generation, now)
        self._log_findings(live)
        self._metrics.awaited(
            one.settings.shown_provider
            for one in live.by_path.values()
            if one.provider.ack_within_s is not None
        )

    def _log_findings(self, live: LiveRuleset) -> None:
        for one in live.findings[:FINDINGS_SHOWN]:
            fields = {"code": one.code, "place": f"{one.file}:{one.line}:{one.column}"}
            rule = {} if one.rule is None else {"rule": one.rule}
            self._log.at(one.severity, f"check: {one.message}", fields | rule)
        if (more := len(live.findings) - FINDINGS_SHOWN) > 0:
            self._log.warning(f"check: and {more} more, which `router check` lists")

    async def _reloaded_to(self, old: Ruleset, live: LiveRuleset) -> None:
        state, new, now = self.state, live.ruleset, self._clock.now()
        changed = old.generation != new.generation
        found = await asyncio.to_thread(differences, old, new) if changed else {}
        state.ok, state.at, state.error = True, now, None
        state.succeeded_at, state.failures = now, 0
        if changed:
            state.changes = found
        self._metrics.reloaded()
        self._in_force(live, now)
        words = "reloaded" if changed else "reloaded, nothing is different"
        self._log.info(words, generation=new.generation, **found)


def _lack(error: BaseException | None) -> OSError | None:
    """The want of descriptors that an error is about, if it is."""
    if isinstance(error, ConfigError):
        for code in NO_DESCRIPTOR:
            words = os.strerror(code)
            if any(one.message.endswith(f": {words}") for one in error.diagnostics):
                return OSError(code, words)
    while error is not None:
        if isinstance(error, OSError) and error.errno in NO_DESCRIPTOR:
            return error
        error = error.__cause__ or error.__context__
    return None


def differences(old: Ruleset, new: Ruleset) -> dict[str, Any]:
    """What a generation says differently, by names: never a value."""
    found: dict[str, list[str]] = {"added": [], "removed": [], "changed": []}
    for change in rule_changes(old, new):
        found[change.kind].append(change.rule)
    settings = {".".join(change.path.split(".")[:2]) for change in setting_changes(old, new)}
    server = [
        f"server.{name}"
        for name in ServerSettings.__struct_fields__
        if getattr(old.server, name) != getattr(new.server, name)
    ]
    return {
        **{kind: _listed(names) for kind, names in found.items()},
        "settings": _listed([*sorted(settings), *server]),
        "needs_restart": [
            key for key in _NEEDS_RESTART if getattr(old.server, key) != getattr(new.server, key)
        ],
    }


def _listed(names: list[str]) -> list[str]:
    more = len(names) - NAMES_SHOWN
    return [*names[:NAMES_SHOWN], f"and {more} more"] if more > 0 else names
