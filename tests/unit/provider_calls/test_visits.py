"""Addresses of proved handshakes: fetched once, tried again, given up and said."""

from contextlib import AbstractAsyncContextManager

import pytest

from router import log
from router.provider_calls.client import ProviderClient
from router.provider_calls.visits import RETRIES_S, WAITING_MAX, Visits
from tests.api_server import Answer, ApiServer
from tests.clocks import JumpingClock
from tests.unit.provider_calls.conftest import client_of


class World:
    """One router's visits."""

    def __init__(self, api: ApiServer) -> None:
        self.api, self.clock = api, JumpingClock()
        self.ended: list[tuple[str, str]] = []
        self.visits = Visits(
            open_client=self.client,
            clock=self.clock,
            log=log.get("test"),
            on_end=lambda *given: self.ended.append(given),
        )

    def client(self) -> AbstractAsyncContextManager[ProviderClient]:
        return client_of(self.api)

    async def later(self, seconds: float) -> None:
        self.clock.elapsed += seconds
        await self.visits.step()


async def test_an_address_is_fetched_once(api: ApiServer) -> None:
    world, address = World(api), f"{api.url}/confirm?Token=abc"
    api.script.append(Answer(200, "<ConfirmSubscriptionResponse/>"))
    for _ in range(2):
        world.visits.want("sns", address)
        world.visits.want("sns", address)
        await world.later(1)
    (asked,) = api.asked
    assert (asked.method, asked.path) == ("GET", "/confirm?Token=abc")
    assert world.ended == [("sns", "fetched")]


@pytest.mark.parametrize("answer", [Answer(500, "no"), Answer(302, "", {"Location": "/meta"})])
async def test_a_failure_is_tried_again_and_then_given_up(
    api: ApiServer, answer: Answer, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(api)
    api.script.extend([answer] * 9)
    world.visits.want("sns", f"{api.url}/confirm?Token=abc")
    await world.later(0)
    for pause in RETRIES_S:
        asked = len(api.asked)
        await world.later(pause - 0.1)
        assert len(api.asked) == asked
        await world.later(0.1)
        assert len(api.asked) == asked + 1
    assert world.ended == [("sns", "given_up")]
    await world.later(10_000)
    assert len(api.asked) == 1 + len(RETRIES_S)
    assert "Token=abc" not in "".join(capsys.readouterr())
    world.visits.want("sns", f"{api.url}/confirm?Token=abc")
    api.script.clear()
    api.script.append(Answer(204))
    await world.later(0)
    assert world.ended[1:] == [("sns", "fetched")], "asked again, it is fetched again"


async def test_nobody_there_is_a_failure_like_others(api: ApiServer) -> None:
    world = World(api)
    world.visits.want("sns", "http://127.0.0.1:1/")
    await world.later(0)
    assert world.ended == []


async def test_not_more_wait_than_there_is_room_for(api: ApiServer) -> None:
    world = World(api)
    for number in range(WAITING_MAX + 1):
        world.visits.want("sns", f"{api.url}/confirm?{number}")
    assert world.ended == [("sns", "given_up")]
