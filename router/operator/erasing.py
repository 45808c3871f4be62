"""
Erases what is about one person, step by step: each is stored whole, so that a kill costs nothing.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import msgspec

from router import log
from router.clock import Clock
from router.errors import ConditionEnded, RouterError, StoreUnavailable, UsageError
from router.expressions import compile as compiled
from router.expressions.nodes import walk
from router.legible import size_text
from router.model.delivery import REDACTED, Delivery, Redaction, as_request
from router.model.erasure import ErasedPart, Erasure, ErasureStep
from router.model.job import ENDED, Job
from router.model.packed import unpacked
from router.model.settings import DAY_MS
from router.operator.conditions import Evaluator
from router.operator.replay_steps import Wake
from router.operator.requests import LOCAL, By, EraseRequest
from router.operator.subject import SubjectSearch
from router.providers import forms
from router.providers.provider import Provider
from router.providers.read import ReadEvent
from router.rules.live import LiveRef
from router.store.protocol import OperatorStore
from router.store.values import CLAIM_MS, Claimed, EventEntry, Selector, VacuumRoom

FACTS = "erase/"
"""The facts of erasures begin so."""
PAUSE_S, CLEANING_PAUSE_S = 0.02, 0.05
"""Between two steps: whoever sends us something now goes first."""
RETRY_S = 1.0
WATCH_S = 10.0
"""How often erasures are looked for that wait, or that nobody goes on with."""
TRIES = 30
"""How often a step is tried while the store cannot commit; then it is looked for again."""
WAITING_MAX = 1_000
"""Deliveries with open jobs from which the search waits for them."""
AT_ONCE = 100
"""Deliveries that had open jobs and that one step takes out, or whose jobs it cancels."""
TEXT_MIN = 4
"""Characters of a text that is looked for elsewhere: shorter ones stand everywhere."""


class Eraser:
    """
    The erasures that this process goes on with. Which are `claimed` no other node goes on with;
    should two do it all the same, each step counts once. `wake` is called with the targets whose
    jobs may start because others were cancelled, `erased` when nothing is left in the ledger.
    """

    def __init__(
        self,
        *,
        store: OperatorStore,
        live: LiveRef,
        clock: Clock,
        wake: Wake,
        claimed: Claimed,
        erased: Callable[[], None],
        evaluator: Evaluator | None = None,
    ) -> None:
        self._store, self._live, self._clock = store, live, clock
        self._wake, self._claimed, self._erased = wake, claimed, erased
        self._evaluator = evaluator
        self._log = log.get("erase")
        self._tasks: dict[str, asyncio.Task[Erasure]] = {}
        self._stuck: set[str] = set()

    def search(self, request: EraseRequest, by: By = LOCAL) -> SubjectSearch:
        """Finds what is to be erased, by today's rules. Raises: as `condition_of`."""
        selector = Selector.of(request.selector, request.ids)
        return SubjectSearch(
            self._store.reads, selector, self._live.current.ruleset, by,
            evaluator=self._evaluator,
        )  # fmt: skip

    async def known(self) -> tuple[Erasure, ...]:
        """Those that have not ended, and of the last day those that have; the oldest first."""
        facts = await self._store.recall(FACTS)
        return tuple([msgspec.convert(value, Erasure) for value in facts.values()])

    async def go_on(self, erasure: Erasure, patience_s: float | None = None) -> Erasure:
        """
        Go on until it is done or waits for jobs; returns it as it is then, or as it is after
        `patience_s`, while it goes on.
        """
        if (task := self._tasks.get(erasure.id)) is None:
            task = self._tasks[erasure.id] = asyncio.create_task(self._erase(erasure))
            task.add_done_callback(partial(self._ended, erasure.id))
        await asyncio.wait({task}, timeout=patience_s)
        if task.done():
            return task.result()
        return next((one for one in await self.known() if one.id == erasure.id), erasure)

    async def resume(self) -> None:
        """Go on with what waits, and with what an earlier process or another node began."""
        for one in await self.known():
            if one.id in self._tasks or one.id in self._stuck or not await self._mine(one.id):
                continue
            if not one.done:
                with contextlib.suppress(RouterError):  # said by _ended
                    await self.go_on(one, 0)
            elif one.created_at < self._clock.now() - DAY_MS:
                await self._store.remember({FACTS + one.id: None})

    async def watch(self) -> None:
        """Do so for ever."""
        while True:
            try:
                await self.resume()
            except StoreUnavailable as error:
                self._log.error("erasures could not be looked for", error=str(error))
            await self._clock.sleep(WATCH_S)

    async def close(self) -> None:
        """Stop between two steps; the next start goes on."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, id_: str, task: asyncio.Task[Erasure]) -> None:
        self._tasks.pop(id_, None)
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            self._log.error("an erasure stands still", erasure=id_, error=str(error))
            if isinstance(error, ConditionEnded):  # it would be ended again; the next start tries
                self._stuck.add(id_)
        elif (now := task.result()).done:
            self._log.info("erased", erasure=id_, deliveries=now.deliveries, parts=now.parts)

    async def _mine(self, id_: str) -> bool:
        return await self._claimed(FACTS + id_, CLAIM_MS)

    async def _erase(self, erasure: Erasure) -> Erasure:
        failures = 0
        while not erasure.done:
            try:
                if not await self._mine(erasure.id):  # another node goes on with it
                    return erasure
                before, erasure = erasure, await self._step(erasure)
            except StoreUnavailable:
                failures += 1
                if failures == TRIES:
                    raise
                await self._clock.sleep(RETRY_S)
                continue
            failures = 0
            if erasure.waiting and erasure == before:
                return erasure
            await self._clock.sleep(CLEANING_PAUSE_S if erasure.asked is None else PAUSE_S)
        return erasure

    async def _step(self, erasure: Erasure) -> Erasure:
        """Go on with it; as it was: only time helps."""
        if erasure.asked is None:
            return await self._clean(erasure)
        request = EraseRequest.from_json(erasure.asked)
        if erasure.state == "waiting" or len(erasure.waiting) >= WAITING_MAX:
            return await self._look_again(erasure, request)
        if erasure.searched:
            return await self._nothing_left(erasure, request)
        search = self.search(request)
        page = await search.after(erasure.reached)
        step = _ErasingStep(erasure, self._live, self._clock.now())
        for data in page.found:
            step.add(data.stored.delivery, data.stored.events, () if data.whole else data.events)
        if request.cancel:
            await self._cancel([d.stored.delivery.id for d in page.found if is_open(d.jobs)])
        failed = erasure.failed + (search.where.failed if search.where else 0)
        return await self._taken(
            step, reached=page.reached, searched=page.reached is None, failed=failed
        )

    async def _look_again(self, erasure: Erasure, request: EraseRequest) -> Erasure:
        """
        Take out what has ended meanwhile; with it what the router itself has told of it since, for
        that is found by what it tells of.
        """
        step, waiting = _ErasingStep(erasure, self._live, self._clock.now()), dict(erasure.waiting)
        still, died = list[str](), False
        for id_, indexes in erasure.waiting.items():
            record = await self._store.reads.delivery(id_)
            if record is not None and is_open(record.jobs):
                still.append(id_)
                continue
            del waiting[id_]
            if record is not None:
                died = died or any(job.state == "dead" for job in record.jobs)
                step.add(record.delivery, record.events, indexes)
            if len(step.ids) == AT_ONCE:
                break
        if request.cancel:
            await self._cancel(still)
        for data in await self.search(request).told() if died else ():
            if data.stored.delivery.id not in step.ids | waiting.keys():
                step.add(data.stored.delivery, data.stored.events, ())
        return await self._taken(step, waiting=waiting)

    async def _taken(self, step: "_ErasingStep", **progress: Any) -> Erasure:
        after = msgspec.structs.replace(step.before, **progress)
        if after == step.before and not step.ids:
            return after
        whole, parts = tuple(step.whole), tuple(step.parts)
        made = ErasureStep(step.before, after, whole, parts)
        done = await self._store.erase(made, now=self._clock.ledger())
        return step.before if done is None else done

    async def _nothing_left(self, erasure: Erasure, request: EraseRequest) -> Erasure:
        """Look for its texts elsewhere; then forget what was asked for."""
        after: str | None = ""
        texts = texts_of(request)
        while texts and after is not None:
            after = await self._store.blank(texts, after)
            await self._clock.sleep(PAUSE_S)
        self._erased()
        return await self._taken(_ErasingStep(erasure, self._live, 0), asked=None)

    async def _clean(self, erasure: Erasure) -> Erasure:
        if erasure.vacuum == "due":
            after = msgspec.structs.replace(erasure, vacuum=await self._vacuumed())
        elif await self._store.empty_journal(erasure.id):
            after = msgspec.structs.replace(erasure, done=True)
        else:
            return erasure
        await self._store.remember({FACTS + erasure.id: msgspec.to_builtins(after)})
        return after

    async def _vacuumed(self) -> str:
        """`done`, or why the store's file could not be written anew: not tried again by itself."""
        try:
            check_room(await self._store.vacuum_room())
            await self._store.vacuum()
        except (StoreUnavailable, UsageError) as error:
            self._log.error("the store's file was not written anew", error=str(error))
            return str(error)
        return "done"

    async def _cancel(self, deliveries: Collection[str]) -> None:
        """End their jobs that do not run."""
        ids, now, count = list(deliveries), self._clock.ledger(), 0
        for start in range(0, len(ids), AT_ONCE):
            some = Selector(ids=tuple(ids[start : start + AT_ONCE]))
            count += await self._store.cancel(some, reason="erased", now=now)
        for target, due_at in (await self._store.reads.targets()).items() if count else ():
            self._wake(target, due_at)


class _ErasingStep:
    """What one step is to take out."""

    def __init__(self, before: Erasure, live: LiveRef, now: int) -> None:
        self.before = before
        self.whole: list[str] = []
        self.parts: list[Any] = []
        self.ids: set[str] = set()
        self._live, self._now = live, now

    def add(
        self, delivery: Delivery, entries: Collection[EventEntry], indexes: Collection[int]
    ) -> None:
        """Events of a delivery, none: all of it. It goes whole, too, if none of its own is left."""
        self.ids.add(delivery.id)
        gone = frozenset(indexes)
        provider = self._live.current.ruleset.providers.get(delivery.provider)
        part = None
        if gone and provider is not None and any(one.index not in gone for one in entries):
            part = without(delivery, provider, gone, self._now)
        if part is None:
            self.whole.append(delivery.id)
        else:
            self.parts.append(part)


def check_room(room: VacuumRoom) -> None:
    """Raises UsageError: there is no room to write the store's file anew."""
    if room.free < room.needed:
        raise UsageError(
            f"writing the store's file anew takes {size_text(room.needed)} of its disk for a "
            f"while, and {size_text(room.free)} are free: make room, or leave out --vacuum"
        )


def is_open(jobs: Collection[Job]) -> bool:
    """Whether any of them has not ended."""
    return any(job.state not in ENDED for job in jobs)


def texts_of(request: EraseRequest) -> tuple[str, ...]:
    """The texts that a request compares with, the longest first: those that may name somebody."""
    if request.selector is None or request.selector.where is None:
        return ()
    tree = compiled(request.selector.where).tree
    found = [node.value for node, _, _ in walk(tree) if node.kind == "literal"]
    found += _values(request.selector.var or {})
    texts = {text for text in found if isinstance(text, str) and len(text) >= TEXT_MIN}
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


def _values(value: Any) -> list[Any]:
    """Every value in a JSON value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, list):
        return [value]
    return [found for one in value for found in _values(one)]


_NOTHING = b"null"


def without(
    delivery: Delivery, provider: Provider, indexes: frozenset[int], now: int
) -> ErasedPart | None:
    """
    A delivery without these events, as of `now` in Unix milliseconds: in its body `null` stands for
    each, so that the others keep their places. None: it is no list that could be cut.
    """
    before = delivery.redacted
    mark = before or Redaction(now, sha256(delivery.body).hexdigest())
    gone, delivery = tuple(sorted({*mark.erased, *indexes})), unpacked(delivery)
    events = provider.read_stored(delivery).events
    left = msgspec.structs.replace(
        delivery,
        body=_cut(delivery, provider, partial(_cut_list, events, indexes)),
        flags=tuple(dict.fromkeys((*delivery.flags, REDACTED))),
        redacted=msgspec.structs.replace(mark, erased=gone),
    )
    wanted = [None if e.index in indexes else e.payload for e in events]
    found = msgspec.structs.replace(left, redacted=before)
    if [e.payload for e in provider.read_stored(found).events] != wanted:
        return None
    return ErasedPart(left, indexes, before)


def _cut(delivery: Delivery, provider: Provider, cut: Callable[[bytes], bytes]) -> bytes:
    """The list stands in the body, or in a field of the form that it is."""
    if provider.source(as_request(delivery)).kind != "field":
        return cut(delivery.body)
    field = (provider.definition.form_field or "").encode("ascii")
    return forms.with_field(delivery.body, field, cut)


def _cut_list(events: Sequence[ReadEvent], indexes: Collection[int], text: bytes) -> bytes:
    parts, reached = [], 0
    for event in events:
        raw = event.raw or text
        begin = text.index(raw, reached)
        parts += [text[reached:begin], _NOTHING if event.index in indexes else raw]
        reached = begin + len(raw)
    return b"".join((*parts, text[reached:]))
