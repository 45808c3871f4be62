"""
`python -m router.wiring.condition_child`: evaluates operators' conditions for a router.

It has the rules and a connection to the store that only reads, and no secret but the address of a
database. Whoever asks ends it when a question takes too long.
"""

import asyncio
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from router.errors import ConfigError, NotFound, RouterError
from router.expressions import compile as compiled
from router.expressions import encode_json
from router.model.packed import body_size
from router.model.store_address import store_address
from router.operator.conditions import FoundPage, PageAsked, TryAsked
from router.operator.requests import LOCAL
from router.operator.search import Search
from router.operator.subject import SubjectSearch
from router.operator.trying import each_value, tried
from router.plugin_host.process import bound, end_with_router, memory_used
from router.rules.ruleset import Ruleset
from router.serving.memory import give_back_large_blocks
from router.store.reads import StoreReader
from router.store.values import Generation, Stored
from router.undumpable import make_undumpable
from router.wiring.live import read_generation
from router.wiring.stores import open_reader

PAGE_S = 0.1
"""Seconds after which a page ends early: a step of what goes on by itself is no longer."""
PROGRESS_S, LARGE = 0.005, 16 * 1024
"""How often it is told how far a page is; also before a body of so many bytes."""
SPENT = 96 * 1024 * 1024
"""Bytes beyond which a process is not used again: what it keeps is no room for a question."""
BEGUN = b"0 0\n"
"""What is written when the store has answered: from then on it is the condition that takes long."""
SHOWN = 4096
"""Bytes of a value found: a page shows fewer, and the router takes no time for the rest."""
OUT_OF_MEMORY = 71
"""The exit status when a question needs more memory than there is."""


class RulesGiven(msgspec.Struct, frozen=True, tag=True):
    """
    The rules to go by from now on, as the store keeps them, and where their file lies. `store` is a
    file, or the address of a database, which `environ` may say more of.
    """

    generation: Generation
    path: str
    dev: bool
    store: str
    environ: dict[str, str]


class Answer(msgspec.Struct, frozen=True):
    """
    A page that was `found`, encoded; or a router's error, by word and text. `spent`: the process is
    of no further use.
    """

    found: msgspec.Raw = msgspec.Raw(b"\xc0")
    error: tuple[str, str] | None = None
    spent: bool = False


Request = RulesGiven | PageAsked | TryAsked
_REQUESTS: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
"""JSON, which has integers of any size: a condition's variables may."""


class ConditionHost:
    """Answers one request after another."""

    def __init__(self) -> None:
        self._reader: StoreReader | None = None
        self._ruleset: Ruleset | None = None
        self._began = self._told = 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until the router closes the socket."""
        while True:
            request = _REQUESTS.decode(await read_frame(reader))
            try:
                answer = await self._answer(request)
            except RouterError as error:
                answer = Answer(error=(error.word, str(error)))
            await write_frame(writer, msgspec.msgpack.encode(answer))

    async def _answer(self, request: Request) -> Answer:
        if isinstance(request, RulesGiven):
            await self._take(request)
            return Answer()
        if self._reader is None or self._ruleset is None:
            raise NotFound("no rules were given")
        reader, ruleset = self._reader, self._ruleset
        found: Any
        if isinstance(request, PageAsked):
            found = await self._page(request, reader, ruleset)
        elif (record := await reader.delivery(request.delivery)) is None:
            raise NotFound(f"delivery {request.delivery} has gone")
        else:
            os.write(1, BEGUN)
            trace = tried(compiled(request.text), record, request.number, ruleset)
            found = each_value(trace, _shown)
        encoded = msgspec.Raw(msgspec.msgpack.encode(found))
        return Answer(encoded, spent=memory_used() > SPENT)

    async def _take(self, given: RulesGiven) -> None:
        os.environ.update(given.environ)
        self._ruleset = None  # room for the next
        loaded = read_generation(given.generation, path=Path(given.path), environ={}, dev=given.dev)
        if loaded.ruleset is None:
            raise ConfigError(loaded.diagnostics)
        self._ruleset = loaded.ruleset
        if self._reader is None:
            self._reader = await open_reader(store_address(given.store, Path("/")))

    async def _page(
        self, asked: PageAsked, reader: StoreReader, ruleset: Ruleset
    ) -> FoundPage[Any]:
        self._began = self._told = time.monotonic()
        search: Search | SubjectSearch
        found: FoundPage[Any]
        if asked.subject:
            search = SubjectSearch(reader, asked.selector, ruleset, LOCAL)
            found = await search.here(asked.after, self._stop)
        else:
            search = Search(
                reader, asked.selector, ruleset, LOCAL, jobs=asked.jobs, originals=asked.originals
            )
            found = await search.here(asked.after, asked.most, newest=asked.newest, stop=self._stop)
            if asked.newest:
                found = msgspec.structs.replace(found, found=tuple(map(_lean, found.found)))
        if (where := search.where) is not None:
            found = msgspec.structs.replace(found, failed=where.failed, reason=where.reason)
        return msgspec.structs.replace(found, seconds=time.monotonic() - self._began)

    def _stop(self, looked: int, at: int | None, upcoming: Stored) -> bool:
        """Whether a page ends early; writes how far it is."""
        now = time.monotonic()
        if not looked or now > self._told + PROGRESS_S or body_size(upcoming.delivery) > LARGE:
            self._told = now
            os.write(1, b"%d %d\n" % (looked, at or 0))
        return now > self._began + PAGE_S


def _shown(value: Any) -> str:
    return encode_json(value)[:SHOWN].decode("utf-8", "ignore")


def _lean(stored: Stored) -> Stored:
    delivery = msgspec.structs.replace(stored.delivery, body=b"")
    return msgspec.structs.replace(stored, delivery=delivery, history=())


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """What the other side wrote. Raises EOFError: it has gone."""
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


async def write_frame(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send what `read_frame` gives to the other side."""
    writer.writelines((len(data).to_bytes(4, "big"), data))
    await writer.drain()


async def _serve(channel: socket.socket) -> None:
    reader, writer = await asyncio.open_unix_connection(sock=channel)
    await ConditionHost().serve(reader, writer)


def main(arguments: list[str]) -> None:
    """Serve until the router closes the socket; a question without memory ends the process."""
    channel, tie = socket.socket(fileno=int(arguments[0])), int(arguments[1])
    end_with_router(tie)
    bound(int(arguments[2]))
    make_undumpable()
    give_back_large_blocks()
    try:
        asyncio.run(_serve(channel))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except EOFError:
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
