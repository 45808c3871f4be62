"""What tests of several actions share."""

import pytest


@pytest.fixture(params=["plain", "aiohttp"])
def plain(request: pytest.FixtureRequest) -> bool:
    """Each of the http action's clients in turn: what one of them does, the other does too."""
    return bool(request.param == "plain")
