"""A real listener on a free port with a made-up intake, and a client that sends raw bytes."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from router.clock import SystemClock
from router.intake import Answer, Arrival
from router.model.delivery import InboundRequest
from router.model.settings import Limits
from router.web.budget import Budget
from router.web.client_address import Peers
from router.web.connections import Wire
from router.web.ingest import Ingest
from router.web.server import Listener
from tests.wire.row import PATH
from tests.wire.sending import Answer as Answered
from tests.wire.sending import read_answer

PATIENT = Limits(
    header_s=60.0,
    body_idle_s=60.0,
    body_total_s=60.0,
    keep_alive_s=60.0,
    answer_s=60.0,
    in_flight_wait_s=60.0,
)
"""No wait ends by itself while a busy machine keeps a test: those that shall are given."""


class Reply(msgspec.Struct):
    status: int = 200
    body: bytes = b'{"status":"accepted"}'
    content_type: str = "application/json"
    close: bool = False
    retry_after: int | None = None
    challenge: bytes | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Entry(msgspec.Struct):
    name: str = "x"
    body_max: int = 1000
    waits: bool = False
    methods: frozenset[str] = frozenset({"POST"})


class FakeIntake:
    """Accepts everything at PATH and remembers it, unless told to wait, fail or answer else."""

    def __init__(self) -> None:
        self.entries: dict[bytes, Entry] = {PATH: Entry()}
        self.accepted: list[InboundRequest] = []
        self.refusals: list[tuple[str | None, str, int]] = []
        self.reply = Reply()
        self.gate: asyncio.Event | None = None
        self.entered = asyncio.Event()
        self.finished = asyncio.Event()
        self.fault: Exception | None = None
        self.groups: list[int] = []
        self.judging: Callable[[Arrival], object] = lambda _arrival: None

    def find(self, raw_path: bytes) -> Entry | None:
        return self.entries.get(raw_path)

    async def accept(self, entry: Entry, request: InboundRequest) -> Reply:
        self.entered.set()
        if self.fault is not None:
            raise self.fault
        if self.gate is not None:
            await self.gate.wait()
        self.accepted.append(request)
        self.finished.set()
        return self.reply

    async def accept_group(self, arrivals: Iterable[Arrival], answer: Answer) -> None:
        group = []
        for arrival in arrivals:
            self.judging(arrival)
            group.append(arrival)
        self.groups.append(len(group))
        for arrival in group:
            answer(arrival, await self.accept(arrival.endpoint, arrival.request))

    def refuse(
        self,
        entry: Entry | None,
        reason: str,
        status: int,
        peer: str,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        self.refusals.append((entry.name if entry else None, reason, status))


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def response(self) -> Answered:
        """The next response."""
        answer = await read_answer(self.reader)
        assert answer is not None
        return answer

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except ConnectionError:
            return


class Server(msgspec.Struct):
    """What a test holds of a running listener."""

    intake: FakeIntake
    listener: Listener
    wire: Wire
    budget: Budget
    clients: list[Client]

    async def connect(self) -> Client:
        client = Client(*await asyncio.open_connection(*self.listener.bound))
        self.clients.append(client)
        return client

    async def ask(self, data: bytes) -> Answered:
        """One request on its own connection."""
        client = await self.connect()
        await client.send(data)
        return await client.response()


@asynccontextmanager
async def serving(
    *,
    trusted: tuple[str, ...] = (),
    peers: Peers | None = None,
    linger_s: float = 1.0,
    listen: str = "127.0.0.1:0",
    tls: ssl.SSLContext | None = None,
    held: socket.socket | None = None,
    **limits: Any,
) -> AsyncIterator[Server]:
    """A listener with these limits, stopped at the end."""
    given = msgspec.structs.replace(PATIENT, **limits)
    intake = FakeIntake()
    peers = peers or Peers(trusted)
    budget = Budget(given.in_flight_bytes, given.in_flight_wait_s)
    door = Ingest(intake, clock=SystemClock(), limits=given, peers=peers, budget=budget)
    wire = Wire(given, door, peers=peers, linger_s=linger_s)
    listener = Listener(listen, wire, tls, held)
    await listener.start()
    server = Server(intake, listener, wire, budget, [])
    try:
        yield server
    finally:
        for client in server.clients:
            await client.close()
        await listener.stop(0.5)
