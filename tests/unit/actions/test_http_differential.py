"""The http action's two clients, held together: the same answers come to the same outcomes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from random import Random

import pytest

from router.actions.http import HttpAction
from router.egress import EgressPolicy
from router.model.job import Outcome
from tests.hostile.targets import Wire, serving
from tests.http_answers import random_answer, random_pieces
from tests.sim.makers import a_job, an_http_call


@contextlib.asynccontextmanager
async def both() -> AsyncIterator[tuple[HttpAction, HttpAction]]:
    """The action over each client."""
    one, other = HttpAction(EgressPolicy()), HttpAction(EgressPolicy(), plain=False)
    try:
        yield one, other
    finally:
        await one.close()
        await other.close()


async def _compared(seeds: range) -> list[tuple[int, bytes, Outcome, Outcome]]:
    """The seeds whose answers come to something else by the one client than by the other."""
    pieces: list[bytes] = []

    async def answers(wire: Wire) -> None:
        await wire.request()
        for piece in pieces:
            await wire.say(piece)
            await asyncio.sleep(0)

    different = []
    async with both() as actions, serving(answers) as (url, _):
        for seed in seeds:
            random = Random(seed)
            data = random_answer(random)
            pieces = random_pieces(random, data)
            call = an_http_call(url, method=random.choice(("POST", "PATCH")))
            one, other = [await action.run(call, a_job()) for action in actions]
            if one != other:
                different.append((seed, data, one, other))
    return different


@pytest.mark.long
async def test_a_random_answer_comes_to_the_same_by_both_clients() -> None:
    assert await _compared(range(300)) == []


@pytest.mark.long
async def test_ten_thousand_random_answers_come_to_the_same_by_both_clients() -> None:
    assert await _compared(range(10_000)) == []
