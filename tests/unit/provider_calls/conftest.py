"""The server of each test, and how its API is reached."""

from collections.abc import AsyncIterator, Iterator

import pytest

from router.provider_calls.client import ProviderClient, hosts_of
from router.providers import builtin
from router.providers.management import Access
from tests.api_server import TOKEN, ApiServer, api_server


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with api_server() as server:
        yield server


def client_of(api: ApiServer) -> ProviderClient:
    """One that waits longer than an answer takes anywhere; not long if the next never comes."""
    unanswered = bool(api.script) and api.script[0] in ("hang", "drip")
    return ProviderClient(hosts_of(api.url), timeout_s=0.3 if unanswered else 60.0)


@pytest.fixture
async def client(api: ApiServer) -> AsyncIterator[ProviderClient]:
    async with client_of(api) as client:
        yield client


def shop(api: ApiServer, *, token: str = TOKEN, spelling: str = "shopify") -> Access:
    rule = builtin()["shopify"].definition.api
    assert rule is not None
    return Access(rule, api.url, token, spelling, "2024-01")


def host(api: ApiServer, *, token: str | None = None) -> Access:
    rule = builtin()["github"].definition.api
    assert rule is not None
    return Access(rule, api.url, token, "github")
