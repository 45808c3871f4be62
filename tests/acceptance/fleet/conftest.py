"""A database of a test's own, for the routers that share it."""

from collections.abc import Iterator

import pytest

from tests.postgres.server import Server


@pytest.fixture
def address(postgres_server: Server) -> Iterator[str]:
    """Of a database that no other test has."""
    postgres_server.execute("CREATE DATABASE fleet OWNER router")
    yield postgres_server.address("fleet")
    postgres_server.execute("DROP DATABASE fleet WITH (FORCE)")
