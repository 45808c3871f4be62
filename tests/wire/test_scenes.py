"""What several connections do to each other, and what a router does that stands still or ends."""

import asyncio
import signal
import socket
import sqlite3
import ssl
import struct
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

from tests.acceptance.process import Rig, RouterProcess
from tests.acceptance.test_socket_activation import handed
from tests.certificates import write_certificate
from tests.wire.place import ISSUED, Place, place_of, served
from tests.wire.row import TE, post
from tests.wire.sending import Link, opened

OPEN = "provider: none, verify: none, dedupe: off"
LONG = "header_timeout: 60s, body_idle: 60s, body_total: 60s, keep_alive: 60s"
ANY = f"endpoints:\n  x: {{paths: [/x], {OPEN}}}\n"
X, BIG, KIB = b"/x", b"/big", 1024


def limits(**given: str) -> str:
    named = ", ".join([LONG, *(f"{name}: {value}" for name, value in given.items())])
    return f"  limits: {{{named}}}\n"


class Hall:
    """The connections of one scene, all closed at its end."""

    def __init__(self, place: Place) -> None:
        self.place, self.links = place, list[Link]()

    async def link(self, source: str = "127.0.0.1") -> Link:
        self.links.append(await opened(self.place.public, source))
        return self.links[-1]

    async def said(self, data: bytes, source: str = "127.0.0.1") -> Link:
        link = await self.link(source)
        await link.send(data)
        return link

    async def asked(self, data: bytes) -> int:
        """The status of the answer to this, on a connection of its own."""
        return await status(await self.said(data))


@asynccontextmanager
async def hall(place: Place) -> AsyncIterator[Hall]:
    made = Hall(place)
    try:
        yield made
    finally:
        for link in made.links:
            link.close()
        await asyncio.sleep(0)


async def status(link: Link, number: int = 1) -> int:
    """Of the answer of this number; 0: it did not come."""
    return link.seen.answers[number - 1].status if await link.heard(number) else 0


def reset(link: Link) -> None:
    """The sender is gone for good: not a half-close but a reset."""
    taken = link.writer.get_extra_info("socket")
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    link.close()


# -- memory for bodies ----------------------------------------------------------------------------


def large(size: int, said: int, head: bytes = b"") -> bytes:
    """A request with a body of so many bytes, of which only some are said."""
    return (
        b"POST /big HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n%b\r\n" % (size, head)
        + b"x" * said
    )


async def _memory(place: Place) -> None:
    async with hall(place) as here:
        holder = await here.said(large(150 * KIB, 70 * KIB))
        assert await here.asked(post(b"1", path=BIG)) == 200
        crowded = [
            await here.said(large(100 * KIB, 100 * KIB)),
            await here.said(large(100 * KIB, 0, b"Expect: 100-continue\r\n")),
            await here.said(b"POST /big HTTP/1.1\r\nHost: h\r\n" + TE + b"\r\n"
                            + b"8000\r\n" + b"y" * 0x8000 + b"\r\n"),
        ]  # fmt: skip
        # An eighth is for those that are whole at once; what comes in pieces is of the rest.
        assert await here.asked(post(b"z" * 40 * KIB, path=BIG)) == 200
        for link in crowded:
            assert await status(link) == 503
            answer = link.seen.answers[0]
            assert (answer.body, answer.head["retry-after"]) == (b'{"error":"busy"}', "5")
            assert answer.head["connection"] == "close"
        waiting = await here.said(large(100 * KIB, 100 * KIB))
        await holder.send(b"x" * 80 * KIB)
        assert [await status(holder), await status(waiting)] == [200, 200]
        for leave in (Link.close, reset, lambda link: link.writer.write_eof()):
            for begun in (large(150 * KIB, 9), b"POST /big HTTP/1.1\r\nHost: h\r\n" + TE + b"\r\n"
                          + b"20000\r\n" + b"y" * 0x1f000):  # fmt: skip
                gone = await here.said(begun)
                assert await here.asked(post(b"1", path=BIG)) == 200
                leave(gone)
        broken = await here.said(b"POST /big HTTP/1.1\r\nHost: h\r\n" + TE + b"\r\n"
                                 + b"20000\r\n" + b"y" * 0x20000 + b"zz")  # fmt: skip
        assert await status(broken) == 400
        assert await here.asked(large(170 * KIB, 170 * KIB)) == 200
        assert await here.asked(large(900 * KIB, 900 * KIB)) == 200  # alone, one is let in


def test_memory_for_bodies_is_shared_waited_for_and_given_back(tmp_path: Path) -> None:
    endpoints = f"endpoints:\n  big: {{paths: [/big], body_max: 1MiB, {OPEN}}}\n"
    server = limits(in_flight="200KiB", in_flight_wait="1s", answer="60s")
    with served(tmp_path, endpoints, server) as (place, _):
        asyncio.run(_memory(place))
        assert kept(place, "big") == 12
        reasons = [reason for _, reason in place.refused()["127.0.0.1"]]
        assert reasons == ["busy"] * 3 + ["malformed_request"]


# -- more than can be done ------------------------------------------------------------------------

HEAVY = b'{"items": [' + b", ".join([b'{"a": 1}'] * 5000) + b"]}"
RULES = "".join(
    f"  - {{id: r{n}, from: heavy, match: 'length(payload.items[?a == `{n}`]) == `1`',"
    " actions: {log: x}}\n"
    for n in range(10)
)
"""To judge one takes some hundredths of a second, and nothing else is done meanwhile."""


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, RouterProcess]]:
    """A router with a costly endpoint."""
    both = f"  heavy: {{paths: [/heavy], {OPEN}}}\n  light: {{paths: [/light], {OPEN}}}\n"
    rules = f"endpoints:\n{both}rules:\n{RULES}"
    with served(tmp_path_factory.mktemp("slow"), rules, limits(answer="60s")) as (place, router):
        yield place, router


@contextmanager
def standing_still(router: RouterProcess) -> Iterator[None]:
    router.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        router.signal(signal.SIGCONT)


async def ready(here: Hall, count: int) -> list[Link]:
    """Connections that have been answered before."""
    links = [await here.said(post(b"0", path=b"/light")) for _ in range(count)]
    assert [await status(link) for link in links] == [200] * count
    return links


async def _at_once(here: Hall, router: RouterProcess, heavy: int, light: int) -> list[list[Link]]:
    """So many requests to the costly endpoint, then to the other, found all in one look."""
    links = await ready(here, heavy + light)
    with standing_still(router):
        for number, link in enumerate(links):
            body, path = (HEAVY, b"/heavy") if number < heavy else (b"1", b"/light")
            await link.send(post(body, path=path))
    return [links[:heavy], links[heavy:]]


def answered(links: list[Link]) -> int:
    return sum(len(link.seen.answers) > 1 for link in links)


def kept(place: Place, endpoint: str) -> int:
    return [named for named, _ in place.deliveries()].count(endpoint)


def test_a_busy_endpoint_does_not_hold_up_another(slow: tuple[Place, RouterProcess]) -> None:
    async def scene() -> None:
        async with hall(slow[0]) as here:
            heavy, [light] = await _at_once(here, slow[1], 9, 1)
            assert await status(light, 2) == 200
            assert answered(heavy) < 6
            assert {await status(link, 2) for link in heavy} <= {200, 503}

    asyncio.run(scene())


def test_who_waits_too_long_is_put_off_and_may_come_again(
    slow: tuple[Place, RouterProcess],
) -> None:
    async def scene() -> None:
        before = kept(slow[0], "heavy")
        async with hall(slow[0]) as here:
            heavy, _ = await _at_once(here, slow[1], 120, 0)
            statuses = [await status(link, 2) for link in heavy]
            assert set(statuses) == {200, 503}
            assert kept(slow[0], "heavy") - before == statuses.count(200)
            late = next(link for link in heavy if link.seen.answers[1].status == 503)
            answer = late.seen.answers[1]
            assert (answer.body, answer.head["retry-after"]) == (b'{"error":"busy"}', "5")
            await late.send(post(b"1", path=b"/light"))
            assert await status(late, 3) == 200

    asyncio.run(scene())
    counted = [reason for _, reason in slow[0].refused()["127.0.0.1"]]
    assert set(counted) == {"busy"}


@pytest.mark.parametrize(("still_s", "expected"), [(0.4, 200), (1.1, 503)])
def test_who_waited_to_be_accepted(tmp_path: Path, still_s: float, expected: int) -> None:
    """A burst is served; who has waited for longer than that hears so before he is read."""

    async def scene(place: Place, router: RouterProcess) -> None:
        async with hall(place) as here:
            with standing_still(router):
                links = [await here.said(post(b"1", path=b"/x")) for _ in range(40)]
                await asyncio.sleep(still_s)
            assert {await status(link) for link in links} == {expected}
        assert kept(place, "x") == (40 if expected == 200 else 0)

    with served(tmp_path, ANY, limits(answer="60s")) as (place, router):
        asyncio.run(scene(place, router))


def test_who_came_before_it_listens_is_served(tmp_path: Path) -> None:
    """The socket is a service manager's: nobody is too late for a router that was not there."""
    rig = Rig(tmp_path / "router", ANY, server=limits(answer="60s"))
    with socket.create_server(("127.0.0.1", 0)) as held:
        place = held.getsockname()
        with socket.create_connection(place, timeout=20) as link:
            link.sendall(post(b"1", path=X, head=b"Connection: close\r\n"))
            time.sleep(1.0)  # longer than anybody may wait for a router that is there
            with handed(rig.router(), held):
                assert heard_until_the_end(link).startswith(b"HTTP/1.1 200 ")


# -- one address, many connections ----------------------------------------------------------------


def own_address() -> str:
    """What other machines would call this one; without, nobody here is a stranger."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as asking:
        try:
            asking.connect(("192.0.2.77", 9))
        except OSError:
            pytest.skip("this machine has no address but its own")
        found: str = asking.getsockname()[0]
    if found.startswith("127."):
        pytest.skip("this machine has no address but its own")
    return found


@pytest.mark.parametrize("trusted", [False, True])
def test_connections_of_a_stranger_are_counted(tmp_path: Path, trusted: bool) -> None:
    address = own_address()
    proxies = f"  trusted_proxies: [{address}]\n" if trusted else ""
    rig = Rig(tmp_path / "router", ANY, server=limits(connections="2", answer="60s") + proxies)

    async def scene(place: Place) -> None:
        async with hall(place) as here:
            one, two = [await here.said(post(b"1", path=b"/x"), address) for _ in range(2)]
            assert [await status(one), await status(two)] == [200, 200]
            if trusted:
                assert await here.asked(post(b"1", path=b"/x")) == 200
                return
            for _ in range(3):
                third = await here.said(post(b"1", path=b"/x"), address)
                assert await status(third) == 0
            one.close()
            while await status(await here.said(post(b"4", path=b"/x"), address)) == 0:
                pass  # the router has yet to see that one has gone

    with rig.router("--listen", f"0.0.0.0:{rig.listen}"):
        found = place_of(rig)
        place = Place((address, rig.listen), found.admin_url, found.token, found.admin)
        asyncio.run(scene(place))
        counted = place.refused().get(address, [])
        assert set(counted) == (set() if trusted else {(None, "too_many_connections")})


# -- the end --------------------------------------------------------------------------------------


def test_a_stop_answers_who_has_begun_and_lets_all_others_go(tmp_path: Path) -> None:
    """Who has connected, or said a part, may say the rest; who has been answered is let go."""

    async def scene(place: Place, router: RouterProcess) -> None:
        whole = post(b"1", path=X)
        async with hall(place) as here:
            idle, piped = await here.said(whole), await here.said(whole + whole)
            assert [await status(idle), await status(piped, 2)] == [200, 200]
            parts = [await here.said(whole[:end]) for end in (0, 15, -1)]
            silent, asked = (
                await here.link(),
                await here.said(post(b"1", path=b"/asked", head=b"Authorization: Bearer t\r\n")),
            )
            assert await here.asked(whole) == 200  # all that was said before it has been read
            router.signal(signal.SIGTERM)
            assert await ends(idle)
            assert await ends(piped)
            with pytest.raises(ConnectionError):
                await here.link()
            for link, end in zip(parts, (0, 15, -1), strict=True):
                await link.send(whole[end:] if end else whole)
            for link in parts:
                assert await status(link) == 200
                assert await ends(link)
            assert await ends(silent)
            assert await status(asked) == 503  # nobody vouches for its token, but it is answered
            assert await ends(asked)

    with socket.create_server(("127.0.0.1", 0)) as issuer:
        asked = ISSUED.replace("PORT", str(issuer.getsockname()[1]))
        rules = "secrets: {token: {env: TOKEN}}\n" + asked + ANY
        rules += "  asked: {paths: [/asked], provider: issued}\n"
        with served(tmp_path, rules, limits(answer="60s")) as (place, router):
            asyncio.run(scene(place, router))
            assert router.ended(within=20) == 0
            assert b"Traceback" not in router.log.read_bytes()


async def ends(link: Link) -> bool:
    """Whether the router ends it, having said no more than was awaited."""
    await link.heard(10**6)
    return link.over and not link.seen.odd


def test_what_is_answered_late_is_stored_all_the_same(tmp_path: Path) -> None:
    """While another holds the store, a delivery is 503 when its time is over, and not lost."""

    async def scene(place: Place, store: Path) -> None:
        async with hall(place) as here:
            with closing(sqlite3.connect(store, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                late = await here.said(post(b"1", path=X) + post(b"2", path=X))
                assert await status(late) == 503
                assert late.seen.answers[0].body == b'{"error":"timeout"}'
                assert await ends(late)
                other.execute("ROLLBACK")
            while kept(place, "x") == 0:  # noqa: ASYNC110 - it is the router that changes
                await asyncio.sleep(0.01)
            assert await here.asked(post(b"3", path=X)) == 200

    with served(tmp_path, ANY, limits(answer="300ms")) as (place, router):
        asyncio.run(scene(place, router.rules.parent / "router.db"))
        assert place.stored()["x"] == [b"1", b"3"]
        assert place.refused()["127.0.0.1"] == [("x", "timeout")]


# -- TLS ------------------------------------------------------------------------------------------


def trusting(folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


def over_tls(place: Place, context: ssl.SSLContext, *said: bytes) -> tuple[list[bytes], str | None]:
    """What is heard after each of these, on one connection; and the protocol that was agreed on."""
    with (
        socket.create_connection(place.public, timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as link,
    ):
        heard = []
        for data in said:
            link.sendall(data)
            heard.append(link.recv(65_536))
        return heard, link.selected_alpn_protocol()


def heard_until_the_end(link: socket.socket) -> bytes:
    heard = b""
    try:
        while part := link.recv(65_536):
            heard += part
    except ConnectionError:
        pass
    return heard


def test_tls(tmp_path: Path) -> None:
    folder = tmp_path / "router"
    folder.mkdir()
    write_certificate(folder, "localhost")
    tls = "  tls: {cert: cert.pem, key: key.pem}\n"
    server = limits(answer="60s").replace("header_timeout: 60s", "header_timeout: 300ms") + tls
    with served(tmp_path, ANY, server) as (place, router):
        first, whole = trusting(folder), post(b"1", path=X)
        heard, protocol = over_tls(place, first, whole, whole)
        assert [answer[:12] for answer in heard] == [b"HTTP/1.1 200"] * 2
        assert protocol == "http/1.1"
        heard, _ = over_tls(place, first, b"\0garbage\r\n\r\n")
        assert heard[0][:12] == b"HTTP/1.1 400"
        for said in (b"", b"\x16\x03\x01\x02\x00\x01", whole):  # none ends its handshake
            with socket.create_connection(place.public, timeout=10) as link:
                link.sendall(said)
                assert b"HTTP" not in heard_until_the_end(link)
        old = trusting(folder)
        with pytest.warns(DeprecationWarning, match="TLSv1"):
            old.minimum_version = ssl.TLSVersion.TLSv1
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        old.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            over_tls(place, old, whole)
        with (
            socket.create_connection(place.public, timeout=10) as plain,
            first.wrap_socket(plain, server_hostname="localhost") as kept_open,
        ):
            kept_open.sendall(whole)
            assert kept_open.recv(65_536)[:12] == b"HTTP/1.1 200"
            write_certificate(folder, "localhost")
            router.signal(signal.SIGHUP)
            router.until(lambda: knows(place, trusting(folder), whole), "the new certificate")
            assert not knows(place, first, whole)
            kept_open.sendall(whole)
            assert kept_open.recv(65_536)[:12] == b"HTTP/1.1 200"
            second = trusting(folder)
            (folder / "cert.pem").write_text("half of a certificate")
            router.signal(signal.SIGHUP)
            router.says("cert.pem")
            assert knows(place, second, whole)
            assert router.stop() == 0  # who does not close his side holds up nobody


def knows(place: Place, context: ssl.SSLContext, said: bytes) -> bool:
    """Whether the router is answered to whoever trusts this certificate."""
    try:
        return over_tls(place, context, said)[0][0].startswith(b"HTTP/1.1 200")
    except ssl.SSLCertVerificationError:
        return False
