"""`server.store`: a file or a database, and what of it is nobody else's business."""

import pytest

from router.config import Loaded, load
from router.model.settings import ServerSettings
from router.model.store_address import DatabaseUrl, PostgresDatabase, SqliteFile, StoreAddress

URL = "postgresql://router:hunter2hunter2@db.example.net/router"


def loaded(store: str, **env: str) -> Loaded:
    text = f"version: 1\nserver:\n  store: {store}\n"
    return load(text, path="/srv/rules.yaml", env=env)


def server(store: str, **env: str) -> ServerSettings:
    found = loaded(store, **env)
    assert found.ruleset is not None, found.diagnostics
    settings: ServerSettings = found.ruleset.server
    return settings


@pytest.mark.parametrize(
    ("store", "address"),
    [
        ("sqlite:a.db", SqliteFile("/srv/a.db")),
        ("{env: STORE}", SqliteFile("/var/b.db")),
        ("{env: DB}", PostgresDatabase(DatabaseUrl(URL), "DB")),
        ("{url: {env: DB}}", PostgresDatabase(DatabaseUrl(URL), "DB")),
        ("{url: {env: NOT_SET}}", PostgresDatabase(None, "NOT_SET")),
        ("postgres://h/db", PostgresDatabase(DatabaseUrl("postgres://h/db"))),
        ("{url: postgres://h/db}", PostgresDatabase(DatabaseUrl("postgres://h/db"))),
        (
            "{url: {env: DB}, pool: 64, node: {env: NODE}}",
            PostgresDatabase(DatabaseUrl(URL), "DB", 64, "one"),
        ),
    ],
)
def test_what_is_written_is_where_it_is(store: str, address: StoreAddress) -> None:
    assert server(store, DB=URL, STORE="sqlite:/var/b.db", NODE="one").store == address


def test_what_is_this_machine_s_own_is_no_part_of_the_generation() -> None:
    """Nor does the store then hold its own address."""
    text = "{url: {env: DB}, node: {env: NODE}}"
    here, there = loaded(text, DB=URL, NODE="one"), loaded(text, DB=f"{URL}2", NODE="two")
    assert here.ruleset is not None
    assert there.ruleset is not None
    assert here.ruleset.generation == there.ruleset.generation
    assert here.ruleset.context["env"] == {}


@pytest.mark.parametrize(
    ("store", "value"),
    [
        ("{env: DB}", "postgresql://u:hunter2/db"),
        ("{env: DB}", "postgre://u:hunter2@h/db"),
        ("{url: {env: DB}}", "https://u:hunter2@h/db"),
        ("{url: {env: NOT_SET, default: '" + URL + "'}}", ""),
        ("'" + URL + "'", ""),
        ("postgre://router:hunter2@h/db", ""),
    ],
)
def test_no_message_shows_a_password(store: str, value: str) -> None:
    found = loaded(store, DB=value).diagnostics
    assert found
    assert "hunter2" not in repr(found)
