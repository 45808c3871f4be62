"""
RECOVERY: what senders could not deliver is asked for again, by an operator or every so often.

A run looks from a time on through what the sender has tried. What it asks for is remembered, so a
run that was cut off goes on; of several routers on one store one does it.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from router.clock import Clock
from router.errors import NotFound, StoreUnavailable, UsageError
from router.log import Log
from router.model.recovery import (
    ASKED,
    FACTS,
    MissedDelivery,
    Recovery,
    RecoveryPlan,
    recoveries,
)
from router.operator.audit import AuditTrail
from router.operator.requests import LOCAL, By
from router.provider_calls.answers import Sends
from router.provider_calls.missed import MissedDeliveries, StoppedError
from router.providers.management import Access
from router.providers.missed import ListedPage, Missed, recover_rule
from router.store.protocol import FactStore
from router.store.values import Claimed, alone

SINCE_MS = 6 * 3_600_000
"""How far back a run looks that nobody says more to."""
OVERLAP_MS = 3_600_000
"""A run that follows another looks so far back behind it: lists may be late."""
AGAIN_MS = 10 * 60_000
"""What the sender was asked to deliver again is not asked for again so soon."""
ASKED_MAX, SHOWN_MAX = 5_000, 50
PATIENCE_S = 2.0
TICK_S = 5.0
CLAIM_MS = 120_000
"""Longer than a page or a redelivery takes, with all its tries and waits."""
RELEASE_MS = 1
SCHEDULE = By("schedule")


class RecoverySource(msgspec.Struct, frozen=True):
    """
    Where an endpoint's missed deliveries are asked for: whose API, which hook (a path there),
    the endpoint's public addresses, and the secret that is the token.
    """

    access: Access
    hook: str
    addresses: tuple[str, ...]
    secret: str


class RecoverySenders(Protocol):
    """What the rules in force say of the senders, and the way in."""

    def every(self) -> Mapping[str, int]:
        """How often each endpoint's missed deliveries are asked for, in milliseconds."""

    def source(self, endpoint: str) -> RecoverySource:
        """Where they are asked for. Raises UsageError: nowhere."""

    def client(self, base: str) -> AbstractAsyncContextManager[Sends]:
        """What calls the API at that address."""

    async def take(self, endpoint: str, body: bytes, secret: str) -> bool | None:
        """
        Make a body durable that was fetched with the secret of that name: True if it is new here,
        False if it was known, None if it cannot be stored.
        """

    def ended(self, run: Recovery) -> None:
        """A run has ended."""


class Recoveries:
    """The runs of this process, and what is known of the others."""

    def __init__(
        self,
        senders: RecoverySenders,
        *,
        store: FactStore,
        audit: AuditTrail,
        clock: Clock,
        log: Log,
        claimed: Claimed = alone,
    ) -> None:
        self._senders, self._claimed = senders, claimed
        self._store, self._audit, self._clock, self._log = store, audit, clock, log
        self._known: dict[str, Recovery] = {}
        self._due: dict[str, float] = {}
        self._runs: dict[str, asyncio.Task[None]] = {}

    def known(self) -> dict[str, Recovery]:
        """The last run of each endpoint."""
        return dict(self._known)

    async def load(self) -> None:
        """Take up what earlier runs, and other nodes, wrote."""
        found = recoveries(await self._store.recall(FACTS))
        self._known = {**found, **{name: self._known[name] for name in self._runs}}

    async def plan(self, endpoint: str, since: int | None) -> RecoveryPlan:
        """
        What a run would ask for.

        Raises:
            UsageError: the endpoint's sender cannot be asked, or says no.
        """
        source = self._senders.source(endpoint)
        begin, asked = self._begin(endpoint, source, since), await self._asked(endpoint)
        sorting = _Sorting(source, asked, self._clock.now())
        missed: list[Missed] = []
        try:
            async with self._senders.client(source.access.base) as client:
                async for page in self._calls(client, source).pages(begin):
                    missed += sorting.wanted(page)
        except StoppedError as error:
            raise UsageError(str(error)) from None
        shown = tuple(MissedDelivery(m.id, m.event, m.at) for m in missed[:SHOWN_MAX])
        return RecoveryPlan(
            endpoint, begin, sorting.seen, len(missed) + sorting.passed, sorting.passed, shown
        )

    async def recover(
        self, endpoint: str, since: int | None, by: By = LOCAL, patience_s: float = PATIENCE_S
    ) -> Recovery:
        """
        Begin a run, or look at the one that runs; it is waited for so long.

        Raises:
            UsageError: the endpoint's sender cannot be asked.
        """
        source = self._senders.source(endpoint)
        if endpoint not in self._runs:
            if not await self._claimed(FACTS + endpoint, CLAIM_MS):
                await self.load()
                running = self._known.get(endpoint)
                if running is None or running.state != "running":
                    raise UsageError("another router has just done this; try again in a minute")
                return running
            await self._start(endpoint, source, since, by)
        task = self._runs.get(endpoint)
        if task is not None:
            await asyncio.wait({task}, timeout=patience_s)
        return self._known[endpoint]

    async def progress(self, endpoint: str) -> Recovery:
        """How far the last run is. Raises NotFound: there was none."""
        if endpoint not in self._runs:
            await self.load()
        found = self._known.get(endpoint)
        if found is None:
            raise NotFound(f"nothing was ever recovered for {endpoint[:80]}")
        if found.state != "running" or endpoint in self._runs:
            return found
        if not await self._claimed(FACTS + endpoint, RELEASE_MS):
            return found  # another router's
        return msgspec.structs.replace(found, state="stopped", problem="it was cut off")

    async def run(self) -> None:
        """Run what is due, for ever."""
        while True:
            try:
                await self.step()
            except StoreUnavailable as error:
                self._log.error("recovery: whose turn is it?", error=str(error))
            await self._clock.sleep(TICK_S)

    async def step(self) -> None:
        """Begin the runs that are due now."""
        for endpoint, every in self._senders.every().items():
            now = self._clock.monotonic()
            if endpoint in self._runs or self._due.get(endpoint, now) > now:
                continue
            if not await self._claimed(FACTS + endpoint, CLAIM_MS):
                self._due[endpoint] = now + min(every, CLAIM_MS) / 1000
                continue
            await self.load()
            left = self._left_ms(endpoint, every)
            self._due[endpoint] = now + (left or every) / 1000
            if left == 0:
                await self._begin_due(endpoint)

    async def close(self) -> None:
        """End the runs; the next ones go on."""
        for task in list(self._runs.values()):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    # -- one run

    def _left_ms(self, endpoint: str, every: int) -> int:
        """How long the last run is recent enough yet, whoever made it."""
        last = self._known.get(endpoint)
        if last is None or last.state == "running":  # whoever ran it is gone: we have its claim
            return 0
        age = self._clock.now() - last.started_at
        return every - age if 0 <= age < every else 0

    async def _begin_due(self, endpoint: str) -> None:
        try:
            source = self._senders.source(endpoint)
        except UsageError as error:
            self._log.warning("recovery not possible", endpoint=endpoint, reason=str(error))
            return
        await self._start(endpoint, source, None, SCHEDULE)

    def _begin(self, endpoint: str, source: RecoverySource, since: int | None) -> int:
        """From when on: what was asked for, back to where the last run did not get through."""
        now, last = self._clock.now(), self._known.get(endpoint)
        if since is None:
            since = now - SINCE_MS
            if last is not None and last.until is not None:
                since = last.until - OVERLAP_MS
        if last is not None and last.state != "done":
            since = min(since, last.since)
        return max(since, now - recover_rule(source.access).keeps_ms)

    async def _start(
        self, endpoint: str, source: RecoverySource, since: int | None, by: By
    ) -> None:
        await self.load()
        now, last = self._clock.now(), self._known.get(endpoint)
        begin, until = self._begin(endpoint, source, since), last.until if last else None
        run = Recovery(endpoint, "running", now, begin, now, until)
        await self._write(run)
        task = asyncio.create_task(self._run(run, source, by), name=f"recovery {endpoint}")
        self._runs[endpoint] = task

    async def _run(self, run: Recovery, source: RecoverySource, by: By) -> None:
        try:
            await self._finished(await self._worked(source, run), by)
        except StoreUnavailable as error:
            self._broke_off(run.endpoint, error, str(error))
        except Exception as error:  # noqa: BLE001 - whoever waits for its end must hear of it
            self._broke_off(run.endpoint, error, "a defect: the log has it")
        finally:
            del self._runs[run.endpoint]
            with contextlib.suppress(StoreUnavailable):
                await self._claimed(FACTS + run.endpoint, RELEASE_MS)

    def _broke_off(self, endpoint: str, error: Exception, words: str) -> None:
        self._log.error("recovery stopped", endpoint=endpoint, reason=words, exc_info=error)
        self._known[endpoint] = msgspec.structs.replace(
            self._known[endpoint], state="stopped", problem=words
        )

    async def _worked(self, source: RecoverySource, run: Recovery) -> Recovery:
        """The run at its end. Raises StoreUnavailable."""
        asked = await self._asked(run.endpoint)
        sorting = _Sorting(source, asked, self._clock.now())
        try:
            async with self._senders.client(source.access.base) as client:
                calls = self._calls(client, source)
                async for page in calls.pages(run.since):
                    for missed in reversed(sorting.wanted(page)):
                        await self._keep_claim(run.endpoint)
                        run = await self._one(calls, source, run, missed, asked)
                    run = msgspec.structs.replace(
                        run,
                        seen=sorting.seen,
                        passed=sorting.passed,
                        missed=sorting.missed + sorting.passed,
                        at=self._clock.now(),
                    )
                    await self._keep_claim(run.endpoint)
                    await self._write(run, asked)
        except StoppedError as error:
            await self._write(run, asked)
            self._due[run.endpoint] = max(
                self._due.get(run.endpoint, 0.0), self._clock.monotonic() + error.wait_s
            )
            return msgspec.structs.replace(run, state="stopped", problem=str(error))
        through = run.until is None or run.since <= run.until
        return msgspec.structs.replace(
            run, state="done", until=run.started_at if through else run.until
        )

    async def _one(
        self,
        calls: MissedDeliveries,
        source: RecoverySource,
        run: Recovery,
        missed: Missed,
        asked: dict[str, int],
    ) -> Recovery:
        """Ask for one, or take it; the run with that counted."""
        against: str | None = None
        if missed.body is None:
            against = await calls.redeliver(missed)
            counted = "requested"
        else:
            new = await self._senders.take(run.endpoint, missed.body, source.secret)
            against = None if new is not None else "the router could not store it"
            counted = "stored" if new else "known"
        if against is None:
            asked[missed.key] = self._clock.now()
        else:
            counted = "failed"
        changed = {counted: getattr(run, counted) + 1, "problem": run.problem or against}
        run = msgspec.structs.replace(run, **changed)
        self._known[run.endpoint] = run
        return run

    async def _keep_claim(self, endpoint: str) -> None:
        """Raises StoppedError: we were away for so long that another router goes on."""
        if not await self._claimed(FACTS + endpoint, CLAIM_MS):
            raise StoppedError("another router goes on with it")

    async def _finished(self, run: Recovery, by: By) -> None:
        run = msgspec.structs.replace(run, at=self._clock.now())
        await self._write(run)
        self._senders.ended(run)
        asked = {"endpoint": run.endpoint, "since": run.since}
        done = run.requested + run.stored
        if done or by is not SCHEDULE:
            await self._audit.note(by, "recover", asked, done)
        level = "info" if run.state == "done" else "warning"
        self._log.at(level, f"recovery {run.state}", msgspec.structs.asdict(run))

    # -- what is remembered

    async def _asked(self, endpoint: str) -> dict[str, int]:
        kept = (await self._store.recall(ASKED + endpoint)).get(ASKED + endpoint)
        return dict(kept) if isinstance(kept, dict) else {}

    async def _write(self, run: Recovery, asked: dict[str, int] | None = None) -> None:
        self._known[run.endpoint] = run
        facts = {FACTS + run.endpoint: msgspec.to_builtins(run)}
        if asked is not None:
            newest = sorted(asked.items(), key=lambda item: item[1], reverse=True)
            facts[ASKED + run.endpoint] = dict(newest[:ASKED_MAX])
        await self._store.remember(facts)

    def _calls(self, client: Sends, source: RecoverySource) -> MissedDeliveries:
        return MissedDeliveries(
            client, source.access, source.hook, clock=self._clock, addresses=source.addresses
        )


class _Sorting:
    """
    Of what is listed, newest first, what is to be asked for: no attempt of it was taken, and it
    was not asked for lately (what was fetched, never again).
    """

    def __init__(self, source: RecoverySource, asked: Mapping[str, int], now: int) -> None:
        redelivers = recover_rule(source.access).redeliver is not None
        recent = now - AGAIN_MS if redelivers else 0
        self._lately = {key for key, at in asked.items() if at > recent}
        self._done: set[str] = set()
        self.seen = self.missed = self.passed = 0

    def wanted(self, page: ListedPage) -> list[Missed]:
        """Those of a page."""
        found = []
        for item in page.items:
            self.seen += 1
            if item.key in self._done:
                continue
            self._done.add(item.key)
            if item.delivered:
                continue
            if item.key in self._lately:
                self.passed += 1
            else:
                found.append(item)
        self.missed += len(found)
        return found
