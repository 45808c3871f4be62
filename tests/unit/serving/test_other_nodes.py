"""Another router is asked at its own address, for itself alone, and never holds up an answer."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from router.errors import NotFound, StoreUnavailable, UsageError
from router.model.job import Job
from router.operator.answers import JobOutput, RefusalList, Unasked
from router.refusals import Refusals
from router.serving.node_client import ANSWER_S, NodeClient, NotAsked
from router.serving.other_nodes import UNREACHABLE, OtherNodes
from router.serving.running import LiveParts, RunningServer
from router.store.reads import StoreReads
from router.store.values import NodeCard, NodeSeen
from tests.acceptance.process import free_ports
from tests.builders import a_job, a_request
from tests.certificates import write_certificate
from tests.clocks import ManualClock

TOKEN = "made-up-token"
SHORT_S, LONG_S = 0.2, 45.0
"""Short for what does not answer, long enough for what does, on any machine."""
ME, OTHER, THIRD = "1", "2", "3"


class Peer:
    """An address at which somebody answers."""

    def __init__(self) -> None:
        self.answer: Any = {"refusals": []}
        self.status = "200 OK"
        self.headers = ""
        self.silent = False
        self.requests: list[str] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                self.requests.append(head)
                if not self.silent:
                    writer.write(self._said())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _said(self) -> bytes:
        body = self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode()
        head = f"HTTP/1.1 {self.status}\r\ncontent-length: {len(body)}\r\n{self.headers}\r\n"
        return head.encode() + body

    @asynccontextmanager
    async def listening(self, tls: ssl.SSLContext | None = None) -> AsyncIterator["Peer"]:
        async with await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls) as server:
            self.port = server.sockets[0].getsockname()[1]
            yield self


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    async with Peer().listening() as peer:
        yield peer


@pytest.fixture
async def third() -> AsyncIterator[Peer]:
    async with Peer().listening() as peer:
        yield peer


@pytest.fixture
async def client() -> AsyncIterator[NodeClient]:
    client = NodeClient(lambda: TOKEN)
    yield client
    await client.close()


async def asked(client: NodeClient, address: str) -> RefusalList:
    return await client.ask(address, OTHER, "/api/refusals", {"limit": 5}, RefusalList)


# The call


async def test_the_node_that_is_meant_is_named_and_gets_the_token(
    client: NodeClient, peer: Peer
) -> None:
    peer.answer = {"refusals": [{"at": 5}]}
    assert (await asked(client, peer.url)).refusals == [{"at": 5}]
    (head,) = peer.requests
    assert head.startswith("GET /api/refusals?limit=5 HTTP/1.1\r\n")
    lines = head.lower().split("\r\n")
    assert f"authorization: bearer {TOKEN}" in lines
    assert f"router-node: {OTHER}" in lines


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary Redirect"])
async def test_no_token_goes_where_a_redirect_leads(
    status: str, client: NodeClient, peer: Peer, third: Peer
) -> None:
    peer.status, peer.headers = status, f"location: {third.url}/api/refusals\r\n"
    with pytest.raises(NotAsked, match=f"^it answers {status[:3]}$"):
        await asked(client, peer.url)
    assert third.requests == []


@pytest.mark.parametrize(
    ("status", "answer", "words"),
    [
        ("401 No", {"detail": "Invalid token."}, "does not accept our token"),
        ("403 No", {"detail": "may not see payloads"}, "does not accept our token"),
        ("400 No", {"detail": "this is node 9, not 2"}, "400: this is node 9, not 2"),
        ("404 No", b"<html>", "not as a router"),
        ("503 No", b"[]", "it answers 503"),
        ("200 OK", {"else": 1}, "not as a router"),
        ("200 OK", b"\x00", "not as a router"),
        ("200 OK", b"x" * 9_000_000, "too long"),
    ],
)
async def test_what_is_no_answer_is_said_in_our_words(
    status: str, answer: Any, words: str, client: NodeClient, peer: Peer
) -> None:
    peer.status, peer.answer = status, answer
    with pytest.raises(NotAsked, match=words) as refused:
        await asked(client, peer.url)
    assert TOKEN not in str(refused.value)


async def test_what_it_does_not_have_is_not_found(client: NodeClient, peer: Peer) -> None:
    peer.status, peer.answer = "404 No", {"detail": "no refused request"}
    with pytest.raises(NotFound, match="no refused request"):
        await asked(client, peer.url)


async def test_silence_is_not_waited_for(peer: Peer) -> None:
    client, peer.silent = NodeClient(lambda: TOKEN, within_s=SHORT_S), True
    with pytest.raises(NotAsked, match="no answer from http://127"):
        await asked(client, peer.url)
    await client.close()


async def test_nobody_there_is_said(client: NodeClient) -> None:
    (port,) = free_ports(1)  # which nobody else listens at meanwhile
    with pytest.raises(NotAsked, match=f"^no connection to http://127.0.0.1:{port}$"):
        await asked(client, f"http://127.0.0.1:{port}")


async def test_who_has_a_certificate_asks_nobody_without(tmp_path: Path, peer: Peer) -> None:
    cert, _ = write_certificate(tmp_path, "localhost")
    client = NodeClient(lambda: TOKEN, tls=cert)
    with pytest.raises(NotAsked, match="no certificate"):
        await asked(client, peer.url)
    await client.close()
    assert peer.requests == []


@pytest.mark.parametrize("known", [True, False])
async def test_a_token_goes_to_who_proves_to_be_a_router(tmp_path: Path, *, known: bool) -> None:
    """By the very certificate that this one has too, or by one of an authority."""
    (tmp_path / "theirs").mkdir()
    ours, theirs = (
        write_certificate(tmp_path, "localhost"),
        write_certificate(tmp_path / "theirs", "localhost"),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*(ours if known else theirs))
    client = NodeClient(lambda: TOKEN, tls=ours[0])
    async with Peer().listening(context) as peer:
        address = f"https://localhost:{peer.port}"
        if known:
            assert (await asked(client, address)).refusals == []
        else:
            with pytest.raises(NotAsked, match="is not trusted"):
                await asked(client, address)
        await client.close()
    assert len(peer.requests) == int(known)


# What is made of the answers


class Ledger:
    """Who lives, and what runs where."""

    def __init__(self) -> None:
        self.seen: list[NodeSeen] = []
        self.running: dict[str, Job] = {}
        self.away = False

    def add(self, number: str, admin: str | None, *, name: str = "", gone: bool = False) -> None:
        card = NodeCard(name or f"node-{number}", admin, "1", "g")
        self.seen.append(NodeSeen(number, card, 1, 0, gone=gone))

    async def nodes(self) -> tuple[NodeSeen, ...]:
        if self.away:
            raise StoreUnavailable("away")
        return tuple(self.seen)

    async def job(self, prefix: str) -> Job | None:
        return self.running.get(prefix)


class World:
    """A router beside others; what it refused itself is in `refusals`."""

    def __init__(self, ledger: Ledger, client: NodeClient) -> None:
        self.ledger, self.client = ledger, client
        self.refusals = Refusals(node=lambda: ME)
        self.written: dict[str, Any] | None = None
        parts = LiveParts(self.refusals, lambda: False, lambda _job, _after: self.written, dict)
        others = OtherNodes(cast(StoreReads, ledger), client, node=lambda: ME)
        rest = cast(Any, None)
        self.running = RunningServer(
            store=rest, live=rest, clock=ManualClock(), audit=rest, reloader=rest, parts=parts,
            others=others,
        )  # fmt: skip

    def silences(self, peer: Peer, within_s: float = SHORT_S) -> None:
        """It answers no more, and is not waited for for long."""
        peer.silent, self.client._within_s = True, within_s

    def refuse(self, at: int) -> str:
        self.refusals.add({"at": at, "reason": "late"})
        return self.refusals.keep("shop", "late", at, a_request())


@pytest.fixture
async def world(peer: Peer, third: Peer) -> AsyncIterator[World]:
    """Of the other two one answers as it is told to, and so does the third."""
    ledger = Ledger()
    for number, admin in ((ME, "http://127.0.0.1:1"), (OTHER, peer.url), (THIRD, third.url)):
        ledger.add(number, admin)
    client = NodeClient(lambda: TOKEN, within_s=LONG_S)
    yield World(ledger, client)
    await client.close()


async def test_refusals_of_all_come_newest_first_with_the_names_of_their_routers(
    world: World, peer: Peer, third: Peer
) -> None:
    world.refuse(5)
    peer.answer = {"refusals": [{"at": 7}, {"at": 3}]}
    third.answer = {"refusals": [{"at": 6}]}
    found = await world.running.refusals(3)
    told = [(one["at"], one["node"]) for one in found.refusals]
    assert told == [(7, "node-2"), (6, "node-3"), (5, "node-1")]
    assert found.unasked == ()


@pytest.mark.long
async def test_who_cannot_be_asked_is_named_and_the_others_answer(
    world: World, peer: Peer, third: Peer
) -> None:
    world.silences(peer, ANSWER_S)
    third.answer = {"refusals": [{"at": 6}]}
    world.ledger.add("4", None)
    world.ledger.add("5", "http://127.0.0.1:1", gone=True)
    found = await world.running.refusals(5)
    assert [one["at"] for one in found.refusals] == [6]
    slow, hidden = found.unasked
    assert slow == Unasked("node-2", f"no answer from {peer.url} within {ANSWER_S:g} s")
    assert hidden == Unasked("node-4", UNREACHABLE)


async def test_routers_of_one_name_are_told_apart(world: World) -> None:
    for number in ("4", "5"):
        world.ledger.add(number, None, name="box")
    names = [one.node for one in (await world.running.refusals(5)).unasked]
    assert names == ["box #4", "box #5"]


async def test_without_the_store_its_own_refusals_are_told(world: World) -> None:
    world.refuse(5)
    world.ledger.away = True
    found = await world.running.refusals(5)
    assert [one["at"] for one in found.refusals] == [5]
    assert [one.node for one in found.unasked] == ["other routers"]


Ask = Callable[[RunningServer, str], Any]


@pytest.mark.parametrize(
    "ask",
    [
        lambda running, node: running.refusals(5, node),
        lambda running, node: running.refusal("last", None, node),
        lambda running, node: running.output("job_1", "", node),
    ],
)
async def test_who_is_asked_by_another_asks_nobody(
    ask: Ask, world: World, peer: Peer, third: Peer
) -> None:
    world.refuse(5)
    world.ledger.running["job_1"] = a_job(id="job_1", state="running", lease=f"{OTHER}/7")
    await ask(world.running, ME)
    with pytest.raises(UsageError, match="this is node 1, not 9"):
        await ask(world.running, "9")
    assert peer.requests + third.requests == []


def a_refusal(at: int, id_: str) -> dict[str, Any]:
    kept = {"id": id_, "at": at, "endpoint": "shop", "reason": "late", "method": "POST"}
    rest = {"path": "/", "query": "", "headers": [], "body_base64": "", "body_bytes": 0}
    return {**kept, **rest, "cut": False}


async def test_a_refused_request_is_asked_of_the_router_in_its_id(
    world: World, peer: Peer, third: Peer
) -> None:
    mine = world.refuse(5)
    assert (await world.running.refusal(mine, None)).id == mine == "ref_1_1"
    peer.answer = a_refusal(7, "ref_2_1")
    assert (await world.running.refusal("ref_2_1", None)).at == 7
    assert third.requests == []
    world.silences(peer)
    with pytest.raises(NotFound, match="kept by node-2, which cannot be asked: no answer"):
        await world.running.refusal("ref_2_1", None)
    with pytest.raises(NotFound, match="no refused request ref_9_1"):
        await world.running.refusal("ref_9_1", None)


async def test_the_last_refused_request_is_that_of_all_routers(
    world: World, peer: Peer, third: Peer
) -> None:
    peer.answer = a_refusal(7, "ref_2_1")
    third.status, third.answer = "404 No", {"detail": "none is kept"}
    assert (await world.running.refusal("last", "shop")).id == "ref_2_1"
    mine = world.refuse(9)
    assert (await world.running.refusal("last", "shop")).id == mine
    peer.status = third.status
    assert (await world.running.refusal("last", None)).id == mine


async def test_output_is_asked_of_the_router_that_runs_the_job(
    world: World, peer: Peer, third: Peer
) -> None:
    world.ledger.running["job_1"] = a_job(id="job_1", state="running", lease=f"{OTHER}/7")
    peer.answer = {"running": True, "attempt": 1, "stdout": "half", "next": "1.4.0"}
    found = await world.running.output("job_1", "1.2.0")
    assert found == JobOutput(True, 1, "half", "", "1.4.0", node="node-2")
    assert "after=1.2.0" in peer.requests[0]
    assert third.requests == []
    world.silences(peer)
    late = await world.running.output("job_1", "")
    assert (late.running, late.node) == (False, "node-2")
    assert "no answer" in str(late.unasked)


async def test_what_runs_here_or_nowhere_is_asked_of_nobody(
    world: World, peer: Peer, third: Peer
) -> None:
    none = JobOutput(running=False)
    for lease in (None, f"{ME}/7", "9/7"):
        world.ledger.running["job_1"] = a_job(id="job_1", lease=lease)
        assert await world.running.output("job_1", "") == none
    assert await world.running.output("job_2", "") == none
    world.written = {"attempt": 1, "stdout": "hi", "stderr": "", "next": "1.2.0"}
    assert (await world.running.output("job_1", "")).stdout == "hi"
    assert peer.requests + third.requests == []
