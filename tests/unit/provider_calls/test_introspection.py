"""Asking who issued a token: within a second, remembered if good, and never for long."""

import base64
import time
from typing import Any

import pytest

from router import log
from router.model.fetched import Fetched
from router.provider_calls.client import ProviderClient, hosts_of
from router.provider_calls.fetches import Fetches
from router.provider_calls.introspection import REMEMBERED_MAX, REMEMBERED_S, Introspector
from router.providers.waiting import Introspection
from router.rules.live import LiveRuleset, SecretValues
from tests.api_server import Answer, ApiServer
from tests.builders import a_ruleset
from tests.clocks import JumpingClock

PATH = "/introspect"
LIVE = LiveRuleset(a_ruleset(), SecretValues({"ours": b"s:cret"}, {"ours": None}))


class World:
    """One router that asks, and the issuer."""

    def __init__(self, api: ApiServer) -> None:
        self.api, self.clock = api, JumpingClock()
        self.fetches = Fetches()
        self.introspector = Introspector(
            fetches=self.fetches,
            open_client=lambda base: ProviderClient(hosts_of(base), timeout_s=0.3),
            clock=self.clock,
            log=log.get("test"),
        )

    async def ask(self, token: bytes = b"t") -> bytes | None:
        """As whoever judges a request does."""
        wanted = Introspection(self.api.url + PATH, "rou:ter", "ours", token)
        known = self.introspector.remembered(wanted)
        return await self.introspector.ask(LIVE, wanted) if known is None else known


@pytest.fixture
def world(api: ApiServer) -> World:
    api.pages[PATH] = {"active": True}
    return World(api)


async def test_the_question(api: ApiServer, world: World) -> None:
    assert await world.ask(b"a+b/c=&d") == b'{"active": true}'
    asked = api.asked[0]
    shown = base64.b64decode(asked.headers["authorization"].removeprefix("Basic "))
    assert (asked.method, shown) == ("POST", b"rou%3Ater:s%3Acret")
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    assert asked.form == {"token": "a+b/c=&d", "token_type_hint": "access_token"}


async def test_a_good_answer_is_remembered_for_a_minute(api: ApiServer, world: World) -> None:
    for elapsed, times in ((0, 1), (REMEMBERED_S - 1, 1), (REMEMBERED_S, 2)):
        world.clock.elapsed = elapsed
        await world.ask()
        assert len(api.asked) == times
    await world.ask(b"another")
    assert len(api.asked) == 3


@pytest.mark.parametrize(
    ("holds_s", "asked"),
    [
        (10, ((0, 1), (9, 1), (10, 2), (10, 3))),
        (86_400, ((0, 1), (REMEMBERED_S - 1, 1), (REMEMBERED_S, 2), (REMEMBERED_S + 1, 2))),
        (10**300, ((0, 1), (REMEMBERED_S - 1, 1), (REMEMBERED_S, 2))),
        (10**400, ((0, 1), (0, 2))),
        (0, ((0, 1), (0, 2))),
        (-(10**400), ((0, 1), (0, 2))),
    ],
    ids=["soon over", "a day", "for ever", "nonsense", "over", "long over"],
)
async def test_no_longer_than_the_token_holds_and_never_for_longer_than_a_minute(
    api: ApiServer, world: World, holds_s: int, asked: tuple[tuple[float, int], ...]
) -> None:
    ends = world.clock.now() // 1000 + holds_s
    api.pages[PATH] = {"active": True, "exp": ends}
    for elapsed, times in asked:
        world.clock.elapsed = elapsed
        await world.ask()
        assert len(api.asked) == times


async def test_a_bad_answer_is_not_remembered(api: ApiServer, world: World) -> None:
    api.pages[PATH] = {"active": False}
    assert await world.ask() == await world.ask() == b'{"active": false}'
    assert len(api.asked) == 2


NONE: list[Any] = [
    Answer(500, "oops"),
    Answer(401, {"error": "invalid_client"}),
    Answer(302, "", {"Location": "/elsewhere"}),
    Answer(200, "<html>log in</html>"),
    Answer(200, b"no JSON"),
    Answer(200, []),
    Answer(200, {"active": True, "exp": "soon"}),
    Answer(200, b'{"active": true, "x": "' + b"x" * 70_000 + b'"}'),
    Answer(200, b" " * 5 * 2**20),
    "hang",
    "drip",
    "close",
    "garbage",
]


@pytest.mark.long
@pytest.mark.parametrize("answer", NONE, ids=range(len(NONE)))
async def test_no_usable_answer_is_none(api: ApiServer, world: World, answer: Any) -> None:
    api.script.append(answer)
    began = time.monotonic()
    assert await world.ask() is None
    assert world.fetches.states()[api.url + PATH].failure is not None
    assert time.monotonic() - began < 5
    assert await world.ask() is not None
    told = Fetched("token issuer", world.clock.now())
    assert world.fetches.states() == {api.url + PATH: told}


async def test_only_so_many_are_remembered(world: World) -> None:
    for n in range(REMEMBERED_MAX + 5):
        world.introspector._remember(("", "", "", b"%d" % n), b'{"active": true}')
    assert len(world.introspector._good) == REMEMBERED_MAX
