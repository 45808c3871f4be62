"""The processes that evaluate operators' conditions: two at most, started when one is needed."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

import msgspec

from router import log as logs
from router.actions.tethered import Tethered
from router.errors import BY_WORD, ConditionBusy, RouterError, StoreUnavailable
from router.expressions import encode_json
from router.model.store_address import PostgresDatabase, StoreAddress
from router.operator.conditions import LIMIT_S, MEMORY, PageAsked, Stopped, T, TryAsked
from router.operator.requests import LOCAL, By
from router.rules.ruleset import Ruleset
from router.store.values import Generation
from router.wiring import condition_child as child_side
from router.wiring.condition_child import Answer, Request, RulesGiven
from router.wiring.live import GenerationSource

CHILDREN = 2
TURN_S = 5.0
"""How long a question waits for its turn."""
RULES_S = 60.0
"""How long a process may take to start and to read the rules."""
LAST_WORDS_S = 0.2

_ANSWERS = msgspec.msgpack.Decoder(Answer)


class ConditionChild(Tethered):
    """
    A running `router.wiring.condition_child`, asked one thing at a time. `generation`: its rules;
    `spent`: it is of no further use.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        env = {name: environ[name] for name in ("PYTHONPATH",) if name in environ}
        super().__init__(child_side.__name__, ".", env, MEMORY)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.generation, self.spent = "", True

    async def take(self, rules: RulesGiven) -> None:
        """Go by these rules from now on. Raises as `ask`."""
        await self.ask(rules, RULES_S)
        self.generation = rules.generation.id

    async def ask(self, request: Request, within_s: float) -> Answer:
        """
        Its answer.

        Raises:
            RouterError: what it could not do.
            StoreUnavailable: the store has taken longer.
            Stopped: it has taken longer, or has ended.
        """
        self.spent = True  # unless it answers
        self.child.stdout.take()
        try:
            async with asyncio.timeout(within_s):
                answer = await self._answer(request)
        except TimeoutError:
            limit = within_s if isinstance(request, RulesGiven) else LIMIT_S
            self.child.stdout.catch_up()
            if not isinstance(request, RulesGiven) and not self.child.stdout.tail():
                raise StoreUnavailable(f"the store did not answer within {limit:g} s") from None
            raise self._stopped(f"after {limit:g} s") from None
        except (EOFError, OSError):
            await self.child.exited()
            raise self._stopped(self._end_of()) from None
        self.spent = answer.spent
        if answer.error is not None:
            word, text = answer.error
            raise BY_WORD.get(word, RouterError)(text)
        return answer

    async def end(self) -> None:
        """End it; it is gone when this returns."""
        if self._streams is not None:
            self._streams[1].close()
        self.close()
        await self.child.exited()

    async def _answer(self, request: Request) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_unix_connection(sock=self.socket)
        reader, writer = self._streams
        await child_side.write_frame(writer, encode_json(request))
        return _ANSWERS.decode(await child_side.read_frame(reader))

    def _end_of(self) -> str:
        if self.child.code == child_side.OUT_OF_MEMORY:
            return f"when it needed more than {MEMORY >> 20} MiB"
        self.child.read_out()
        said = self.child.stderr.tail().decode("utf-8", "replace")
        logs.get("conditions").error("the process has ended", code=self.child.code, said=said)
        return f"with its process (exit status {self.child.code})"

    def _stopped(self, when: str) -> Stopped:
        """Its last whole line says how far it was."""
        self.child.stdout.catch_up()
        lines = self.child.stdout.tail().split(b"\n")[:-1]
        looked, at = map(int, lines[-1].split()) if lines else (0, 0)
        return Stopped(when, looked, at or None)


class ConditionChildren:
    """The router's Evaluator. `store` is what the processes read."""

    def __init__(self, source: GenerationSource, store: StoreAddress) -> None:
        self._source, self._store = source, store
        self._idle: list[ConditionChild] = []
        self._busy: set[ConditionChild] = set()
        self._room = asyncio.Semaphore(CHILDREN)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def ask(
        self, asked: PageAsked | TryAsked, kind: type[T], ruleset: Ruleset, by: By, within_s: float
    ) -> T:
        """What a process answers, as Evaluator says."""
        async with self._turn(by), self._child() as child:
            if child.generation != ruleset.generation:
                await child.take(self._given(ruleset))
            answer = await child.ask(asked, within_s)
            return msgspec.msgpack.decode(answer.found, type=kind)

    async def close(self) -> None:
        """End all of them."""
        for child in (*self._idle, *self._busy):
            await child.end()

    @asynccontextmanager
    async def _turn(self, by: By) -> AsyncIterator[None]:
        """A caller's turn. What goes on by itself waits for it as long as it takes, others not."""
        turn = self._turns.setdefault(by.who, asyncio.Lock())
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(None if by is LOCAL else TURN_S):
                    await stack.enter_async_context(turn)
                    await stack.enter_async_context(self._room)
            except TimeoutError:
                raise ConditionBusy(
                    f"other conditions are evaluated before this one, one at a time for {by.who} "
                    f"and {CHILDREN} in all: ask again in a moment"
                ) from None
            yield

    @asynccontextmanager
    async def _child(self) -> AsyncIterator[ConditionChild]:
        """One that waits and lives, or a new one. It is kept if it has answered, else ended."""
        while self._idle and self._idle[-1].child.exit.done():  # memory was short: it goes first
            await self._idle.pop().end()
        child = self._idle.pop() if self._idle else ConditionChild(self._source.environ)
        self._busy.add(child)
        try:
            yield child
        finally:
            self._busy.discard(child)
            if child.spent:
                await child.end()
            else:
                self._idle.append(child)

    def _given(self, ruleset: Ruleset) -> RulesGiven:
        """All that a process is told: the rules, and how the store is read."""
        kept = Generation(ruleset.generation, ruleset.text, ruleset.context, 0)
        store, environ = str(self._store), dict[str, str]()
        if isinstance(self._store, PostgresDatabase) and self._store.url is not None:
            known = self._source.environ.items()
            environ = {name: v for name, v in known if name == "HOME" or name.startswith("PG")}
            store = self._store.url.url
        return RulesGiven(kept, str(self._source.path), self._source.dev, store, environ)
