"""What tests of several actions share."""

from collections.abc import AsyncIterator

import pytest

from router.actions.http import HttpAction
from router.egress import EgressPolicy


@pytest.fixture(params=["plain", "aiohttp"])
def plain(request: pytest.FixtureRequest) -> bool:
    """Each of the http action's clients in turn: what one of them does, the other does too."""
    return bool(request.param == "plain")


@pytest.fixture
async def action(plain: bool) -> AsyncIterator[HttpAction]:
    """The http action with that client, closed at the end."""
    made = HttpAction(EgressPolicy(), plain=plain)
    yield made
    await made.close()
