"""Published keys: fetched ahead and when a request misses one, kept, believed whole."""

import random
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import jwt
import pytest

from router import log
from router.model.fetched import Fetched
from router.provider_calls.client import ProviderClient
from router.provider_calls.fetches import Fetches
from router.provider_calls.keys import FLOOR_S, KNOWN_MAX, WANTED_MAX, KeySource, PublishedKeys
from router.providers import ed25519, keys
from router.providers.bearer import load_private
from router.providers.certificates import public_key
from router.providers.keys import UnusableKeyError
from router.providers.waiting import PublishedKey
from tests.api_server import Answer, ApiServer, api_server
from tests.certificates import Authority, client_side, pem, server_side
from tests.clocks import JumpingClock
from tests.unit.provider_calls.conftest import client_of
from tests.unit.provider_calls.test_ranges import Facts

ROOT = Authority()
BETWEEN = Authority("Test Intermediate", ROOT)
NAME = "sign.example"
HERE = "192.0.2.1"
NOW_MS = int(time.time() * 1000)
"""Certificates are made for the present."""


def a_key_set(kid: str = "1") -> dict[str, Any]:
    algorithm, key = load_private(ed25519.invent(lambda count: kid.encode() * count))
    return {
        "keys": [jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), True) | {"kid": kid}]
    }


class World:
    """One router's keys."""

    def __init__(self, api: ApiServer, facts: Facts | None = None) -> None:
        self.api, self.facts, self.clock = api, facts or Facts(), JumpingClock(NOW_MS)
        self.ahead = [KeySource(api.url + "/keys")]
        self.fetches = Fetches()
        self.keys = PublishedKeys(
            sources=lambda: self.ahead,
            open_client=self.client,
            facts=self.facts,
            clock=self.clock,
            rng=random.Random(1),
            log=log.get("test"),
            roots=lambda: [ROOT.certificate],
            fetches=self.fetches,
        )

    def client(self, _base: str) -> AbstractAsyncContextManager[ProviderClient]:
        return client_of(self.api)

    @property
    def known(self) -> bytes | None:
        return self.keys.known(self.ahead[0])

    def certificate(self, path: str, **given: Any) -> PublishedKey:
        """The certificate at an address that a request named."""
        address = self.api.url + path
        return PublishedKey(address, "certificate", (NAME,), (NAME,), **given)

    async def later(self, seconds: float) -> None:
        self.clock.elapsed += seconds
        await self.keys.step()


@pytest.fixture
def world(api: ApiServer) -> World:
    api.pages["/keys"] = a_key_set()
    return World(api)


async def test_a_key_set_is_fetched_ahead_and_kept(api: ApiServer, world: World) -> None:
    assert world.known is None
    await world.keys.step()
    assert b'"kid": "1"' in (world.known or b"")
    api.pages.clear()
    again = World(api, world.facts)
    await again.keys.load()
    assert again.known == world.known


async def test_a_rotated_key_is_fetched_when_it_is_missed(api: ApiServer, world: World) -> None:
    await world.keys.step()
    api.pages["/keys"] = a_key_set("2")
    await world.later(FLOOR_S + 1)
    assert len(api.asked) == 1
    world.keys.want(world.ahead[0], HERE)
    await world.later(1)
    assert b'"kid": "2"' in (world.known or b"")


async def test_many_who_miss_a_key_make_one_fetch(api: ApiServer, world: World) -> None:
    await world.keys.step()
    for _ in range(100):
        world.keys.want(world.ahead[0], HERE)
        await world.later(FLOOR_S / 100)
    assert len(api.asked) <= 2


BAD: list[Any] = [
    Answer(500, "oops"),
    Answer(302, "", {"Location": "/elsewhere"}),
    Answer(200, "no JSON"),
    Answer(200, {"keys": []}),
    Answer(200, {"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}),
    Answer(200, b" " * 70_000),
    Answer(200, b"[" * 60_000),
    "hang",
    "drip",
    "close",
    "garbage",
]


@pytest.mark.long
@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
async def test_a_bad_answer_forgets_nothing(api: ApiServer, world: World, bad: Any) -> None:
    api.script.append(bad)
    await world.keys.step()
    assert world.known is None
    await world.later(6)
    known = world.known
    assert known is not None
    api.script.append(bad)
    await world.later(world.keys.REFRESH_S * 1.2)
    assert len(api.asked) == 3
    assert world.known == known


async def test_a_retry_after_is_kept_to_whoever_misses_a_key(api: ApiServer, world: World) -> None:
    api.script.append(Answer(429, "", {"Retry-After": "300"}))
    await world.keys.step()
    world.keys.want(world.ahead[0], HERE)
    await world.later(299)
    assert len(api.asked) == 1
    await world.later(2)
    assert len(api.asked) == 2


async def test_how_it_goes_is_told(api: ApiServer, world: World) -> None:
    address, wanted = world.ahead[0].base, world.certificate("/cert.pem")
    api.script.append(Answer(500, "oops"))
    world.keys.want(wanted, HERE)
    await world.keys.step()
    now = world.clock.now()
    assert world.fetches.states() == {
        address: Fetched("key set", None, now, "HTTP 500: oops"),
        wanted.address: Fetched("certificate", None, now, "HTTP 404: Not Found"),
    }
    await world.later(6)
    assert world.fetches.states()[address] == Fetched("key set", world.clock.now())
    world.ahead.clear()
    await world.later(1)
    assert address not in world.fetches.states()


# -- certificates at addresses that requests name ------------------------------------------------


async def test_a_certificate_is_fetched_once_a_request_names_it(
    api: ApiServer, world: World
) -> None:
    chain = BETWEEN.certify(NAME)[1]
    api.pages["/cert.pem"] = chain
    wanted = world.certificate("/cert.pem")
    assert world.keys.known(wanted) is None
    world.keys.want(wanted, HERE)
    world.keys.want(wanted, HERE)
    await world.keys.step()
    assert world.keys.known(wanted) == chain
    assert [asked.path for asked in api.asked] == ["/keys", "/cert.pem"]
    again = World(api, world.facts)
    await again.keys.load()
    assert again.keys.known(wanted) == chain


def certificates() -> dict[str, bytes]:
    leaf = BETWEEN.certify(NAME)[1]
    _, other = Authority("Another").certify(NAME)
    return {
        "another authority's": other,
        "without its chain": leaf[: leaf.index(b"-----END") + 26],
        "another name's": BETWEEN.certify("evil.example")[1],
        "a name in its end": BETWEEN.certify(f"evil-{NAME}")[1],
        "expired": BETWEEN.certify(NAME, days=(-3, -1))[1],
        "not yet": BETWEEN.certify(NAME, days=(1, 3))[1],
        "the authority itself": pem(BETWEEN.certificate),
        "a short key": BETWEEN.certify(NAME, bits=1024)[1],
        "nothing": b"",
        "no certificate": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "too many": leaf * 5,
        "a page": b"<html>log in</html>",
    }


@pytest.mark.parametrize(("what", "text"), certificates().items(), ids=certificates().keys())
async def test_a_certificate_that_nobody_vouches_for(
    api: ApiServer, world: World, what: str, text: bytes
) -> None:
    api.pages["/cert.pem"] = text
    wanted = world.certificate("/cert.pem")
    world.keys.want(wanted, HERE)
    await world.keys.step()
    assert len(api.asked) == 2
    assert world.keys.known(wanted) is None


async def test_without_its_chain_where_the_sender_publishes_it_so(
    api: ApiServer, world: World
) -> None:
    whole = BETWEEN.certify(NAME)[1]
    alone = whole[: whole.index(b"-----END") + 26]
    api.pages |= {"/1": alone, "/2": BETWEEN.certify("evil.example")[1]}
    first, second = (world.certificate(p, chained=False) for p in ("/1", "/2"))
    for wanted in (first, second):
        world.keys.want(wanted, HERE)
        await world.later(1)
    assert world.keys.known(first) == alone
    assert world.keys.known(second) is None


@pytest.mark.long
async def test_made_up_addresses_are_asked_one_a_second(api: ApiServer, world: World) -> None:
    for second in range(60):
        for n in range(50):
            world.keys.want(world.certificate(f"/{second}/{n}"), f"10.0.0.{n}")
        await world.later(1)
    assert len(api.asked) <= 61
    assert len(world.keys._wanted) <= WANTED_MAX
    for _ in range(20):
        world.keys.want(world.certificate("/0/0"), HERE)
        await world.later(FLOOR_S / 25)
    assert sum(asked.path == "/0/0" for asked in api.asked) <= 2


async def test_a_stranger_s_made_up_addresses_keep_no_genuine_one_out(
    api: ApiServer, world: World
) -> None:
    """Whose address it is and the /64 of it: two of them wait, and the rest are not remembered."""
    api.pages["/cert.pem"] = BETWEEN.certify(NAME)[1]
    for n in range(50):
        world.keys.want(world.certificate(f"/{n}"), f"2001:db8::{n:x}")
    genuine = world.certificate("/cert.pem")
    world.keys.want(genuine, "2001:db8:0:1::1")
    for _ in range(3):
        await world.later(1)
    assert world.keys.known(genuine) is not None
    assert [one.path for one in api.asked] == ["/keys", "/0", "/1", "/cert.pem"]


@pytest.mark.long
async def test_no_more_certificates_are_kept_than_any_sender_needs(
    api: ApiServer, world: World
) -> None:
    chain = BETWEEN.certify(NAME)[1]
    for n in range(KNOWN_MAX + 2):
        api.pages[f"/{n}"] = chain
        world.keys.want(world.certificate(f"/{n}"), HERE)
        await world.later(1)
    known = [world.keys.known(world.certificate(f"/{n}")) for n in range(KNOWN_MAX + 2)]
    assert known == [None, None] + [chain] * KNOWN_MAX
    kept = [name for name, value in world.facts.kept.items() if value is not None]
    assert len(kept) == KNOWN_MAX + 1
    assert world.known is not None


def test_a_certificate_holds_by_the_clock() -> None:
    _, chain = BETWEEN.certify(NAME, days=(-1, 1))
    assert keys.mend(public_key(chain, (NAME,), NOW_MS)).warning is None
    for late_ms in (2 * 86_400_000, -2 * 86_400_000):
        with pytest.raises(UnusableKeyError, match="expired"):
            public_key(chain, (NAME,), NOW_MS + late_ms)


@pytest.mark.long
async def test_by_tls_to_a_host_that_the_authorities_know(tmp_path: Path) -> None:
    """The whole way, over a real connection; a host with another's certificate is not believed."""
    for host, known in (("127.0.0.1", True), ("192.0.2.1", False)):
        with api_server(server_side(tmp_path, *ROOT.certify(host))) as api:
            world = World(api)
            api.pages["/keys"] = a_key_set()
            trust = client_side(ROOT)
            world.client = lambda _base, trust=trust: ProviderClient(("127.0.0.1",), trust=trust)  # type: ignore[misc]
            world.keys._open = world.client
            await world.keys.step()
            assert (world.known is not None) == known
