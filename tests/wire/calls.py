"""
Calls out, as rows of the tests here see them: what goes over the wire, and what is kept of it.

Everything of the router that they need stands in `Calls`: an http action, called through what
every action has, and the answers of a resolver.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from router.actions.http import HttpAction
from router.egress import EgressPolicy
from router.log import Redactor
from router.model.job import Outcome, RetryOutcome
from router.model.settings import Tls
from tests.certificates import Authority, pem, server_side, write_certificate
from tests.hostile.targets import Wire, serving
from tests.sim.makers import a_job, an_http_call
from tests.waiting import until

CLOSE, FIN, RESET, STAY = "closes", "ends without a word", "resets", "stays and says nothing"
Answer = bytes | Sequence[bytes | str]
"""What is said to one request, piece by piece, and how the connection ends, if it does."""
NEXT = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext"


class Seen(NamedTuple):
    """What came of a call: `how` is done, fail, or the class of a failure that is tried again."""

    how: str
    reason: str
    result: dict[str, Any]

    @property
    def text(self) -> str:
        return str(self.result.get("text", ""))


class Calls:
    """An http action; `names` is what its resolver knows, `asked` what that was asked for."""

    def __init__(self, *allow: str, redactor: Redactor | None = None) -> None:
        self.names: dict[str, list[str]] = {"localhost": ["127.0.0.1"]}
        self.asked: list[str] = []
        self._action = HttpAction(EgressPolicy(allow), lookup=self._lookup, redactor=redactor)

    async def to(self, url: str, **changes: Any) -> Seen:
        """Call it once; the fields of the call are `an_http_call`'s."""
        return seen(await self._action.run(an_http_call(url, **changes), a_job()))

    async def __aenter__(self) -> "Calls":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close its connections, as a router that stops does."""
        await self._action.close()

    async def _lookup(self, host: str) -> list[str]:
        self.asked.append(host)
        if host not in self.names:
            raise OSError("no such name")
        return list(self.names[host])


def seen(outcome: Outcome) -> Seen:
    """An outcome, as it is written in rows."""
    name = type(outcome).__name__.removesuffix("Outcome").lower()
    how = outcome.failure if isinstance(outcome, RetryOutcome) else name
    return Seen(how, getattr(outcome, "reason", ""), outcome.result)


class Target:
    """A server that gives its answers in turn, the last of them again and again."""

    def __init__(self, *answers: Answer) -> None:
        self.url, self._answers = "", answers
        self.requests: list[bytes] = []
        self.wires: list[Wire] = []

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2].strip("/"))

    async def script(self, wire: Wire) -> None:
        """Read requests and answer them, until an answer ends the connection."""
        while True:
            self.requests.append(await wire.request())
            answer = self._answers[min(len(self.requests), len(self._answers)) - 1]
            for piece in [answer] if isinstance(answer, bytes) else answer:
                if isinstance(piece, bytes):
                    await wire.say(piece)
                elif not await _ended(wire, piece):
                    return

    async def gone(self) -> None:
        """Wait until the caller has closed every connection."""
        await until(lambda: all(wire.reader.at_eof() for wire in self.wires))


async def _ended(wire: Wire, how: str) -> bool:
    """Whether the connection goes on."""
    if how == RESET:
        wire.reset()
    elif how == FIN:
        wire.half_close()
        await wire.nothing()
    elif how == STAY:
        await wire.nothing()
    return how not in (CLOSE, RESET)


@contextlib.asynccontextmanager
async def answering(
    *answers: Answer, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Target]:
    """A target, as long as the block lasts; its URL has a number for a host."""
    target = Target(*answers)
    async with serving(target.script, tls, host, port) as (target.url, target.wires):
        yield target


class Trust:
    """An authority that the calls of a test trust, and servers that it vouches for."""

    def __init__(self, folder: Path) -> None:
        self._made: dict[object, Any] = {}
        self.folder, self.root, self.other = folder, Authority(), Authority("Other Root")
        for name, authority in (("ca", self.root), ("other", self.other)):
            (folder / f"{name}.pem").write_bytes(pem(authority.certificate))

    @property
    def ca(self) -> Tls:
        return Tls(ca=str(self.folder / "ca.pem"))

    def client(self, name: str) -> Tls:
        """The same trust, and a certificate of one's own."""
        server_side(self.folder, *self.root.certify(name, usage="client"))
        path = (self.folder / "server.pem").rename(self.folder / f"{name}.pem")
        return Tls(ca=self.ca.ca, cert=str(path))

    def server(self, *hosts: str, by: Authority | None = None, **settings: Any) -> ssl.SSLContext:
        """How a server for these hosts speaks TLS; `settings` are those of `certify`."""
        hosts = hosts or ("127.0.0.1", "localhost", "erp.example")
        wanted = (hosts, by, *settings.items())
        if wanted not in self._made:
            self._made[wanted] = (by or self.root).certify(*hosts, **settings)
        return server_side(self.folder, *self._made[wanted])

    def self_signed(self, host: str) -> ssl.SSLContext:
        """How a server speaks TLS that vouches for itself."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*write_certificate(self.folder, host))
        return context


@contextlib.contextmanager
def black_hole(host: str, port: int = 0) -> Iterator[int]:
    """An address whose connections are never accepted: SYNs fall into a full queue. Its port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(family))
        listener.bind((host, port))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket(family))
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


async def turns(count: int = 20) -> None:
    """Let the loop do what it has to do already."""
    for _ in range(count):
        await asyncio.sleep(0)
