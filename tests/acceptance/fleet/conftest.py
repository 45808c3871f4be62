"""A database of a test's own, for the routers that share it."""

import pytest

from tests.postgres.server import Server


@pytest.fixture
def address(postgres_server: Server, new_database: str) -> str:
    return postgres_server.address(new_database)
