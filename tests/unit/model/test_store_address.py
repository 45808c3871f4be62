"""Where a store is, and how much of that may be shown."""

from pathlib import Path

import msgspec
import pytest

from router.errors import UsageError
from router.model.store_address import (
    DatabaseUrl,
    PostgresDatabase,
    SqliteFile,
    StoreAddress,
    store_address,
)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:secret@h/db", "postgresql://h/db"),
        ("postgres://u:secret@h:5433/db?sslmode=verify-full", "postgresql://h:5433/db"),
        ("postgresql://u:se/c@r?e#t@h/db", "postgresql://h/db"),
        ("postgresql://u:secret@h1:1,h2:2/db", "postgresql://h1:1,h2:2/db"),
        ("postgresql://u:secret@[::1]:5432/db", "postgresql://[::1]:5432/db"),
        ("postgresql://h/db?password=secret&user=u", "postgresql://h/db"),
        ("postgresql:///db?host=/run/pg&port=5433", "postgresql:///db?host=/run/pg&port=5433"),
        ("postgresql://u@h", "postgresql://h"),
    ],
)
def test_of_a_database_host_and_name_are_shown(url: str, shown: str) -> None:
    database = PostgresDatabase(DatabaseUrl(url))
    assert (str(database), str(database.url)) == (shown, shown)
    assert "secret" not in repr(database) + shown


@pytest.mark.parametrize(
    ("url", "passwords"),
    [
        ("postgresql://u@h/db", set()),
        ("postgresql://h:5432/db", set()),
        ("postgresql://u:s%40c@h/db", {"s%40c", "s@c"}),
        ("postgresql://u:a@h/db?password=b&sslpassword=c", {"a", "b", "c"}),
    ],
)
def test_its_passwords_are_known_in_every_spelling(url: str, passwords: set[str]) -> None:
    assert DatabaseUrl(url).passwords == passwords


@pytest.mark.parametrize(
    "url", ["mysql://u:secret@h/db", "postgresql:h", "postgresql://u:secret/db", "postgresql://[x"]
)
def test_what_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        DatabaseUrl(url)
    assert "secret" not in str(refused.value)


def test_it_cannot_be_written_as_json() -> None:
    """What would be stored or answered with it fails rather than to tell."""
    with pytest.raises(TypeError):
        msgspec.json.encode(PostgresDatabase(DatabaseUrl("postgresql://u:secret@h/db")))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("sqlite:a.db", SqliteFile("/srv/a.db")),
        ("data/a.db", SqliteFile("/srv/data/a.db")),
        ("/var/a.db", SqliteFile("/var/a.db")),
        ("postgres://h/db", PostgresDatabase(DatabaseUrl("postgres://h/db"))),
    ],
)
def test_the_command_line_names_a_file_or_a_database(text: str, address: StoreAddress) -> None:
    assert store_address(text, Path("/srv")) == address


def test_another_scheme_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'postgresql'") as refused:
        store_address("postgressql://u:secret@h/db", Path("/srv"))
    assert "secret" not in str(refused.value)
