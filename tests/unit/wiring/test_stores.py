"""One road to a store: by its address; what a database needs is asked for in a sentence."""

import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from router import log as logs
from router.errors import SecretMissing, StoreAbsent, StoreRefused, StoreUnavailable
from router.model.store_address import DatabaseUrl, PostgresDatabase, SqliteFile
from router.wiring.stores import exists, node_name, open_reader, open_store, sqlite_path
from tests.clocks import ManualClock

URL = "postgresql://router:hunter2hunter2@127.0.0.1:1/router"
DATABASE = PostgresDatabase(DatabaseUrl(URL))

ALONE = """
import sys
from router.cli.main import run
for name in sys.argv[1].split():
    sys.modules[name] = None
code = run(sys.argv[2:], {})
print(*(name for name in ("asyncpg", "router.store.postgres") if sys.modules.get(name)))
sys.exit(code)
"""


def alone(tmp_path: Path, missing: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, where these modules cannot be imported."""
    command = [sys.executable, "-c", ALONE, missing, *words]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


async def test_a_file_is_opened_and_read_by_its_address(tmp_path: Path) -> None:
    address = SqliteFile(str(tmp_path / "router.db"))
    assert not exists(address)
    with pytest.raises(StoreAbsent, match=r"there is no store .*router\.db"):
        await open_reader(address)
    store = await open_store(address, clock=ManualClock())
    await store.close()
    assert exists(address)
    reader = await open_reader(address)
    assert await reader.counts() == {}
    await reader.close()


async def test_a_database_whose_variable_is_not_set_is_not_opened() -> None:
    with pytest.raises(SecretMissing, match="environment variable DB is not set"):
        await open_reader(PostgresDatabase(None, "DB"))
    with pytest.raises(SecretMissing, match="environment variable DB is not set"):
        await open_store(PostgresDatabase(None, "DB"), clock=ManualClock())


@pytest.mark.long
async def test_a_database_has_a_reader_when_a_router_has_made_its_tables(
    empty_postgres: str, postgres: str
) -> None:
    connection = await asyncpg.connect(postgres)
    await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    await connection.close()
    address = PostgresDatabase(DatabaseUrl(empty_postgres))
    with pytest.raises(StoreAbsent, match="has no tables of a router yet"):
        await open_reader(address)
    store = await open_store(address, clock=ManualClock())
    reader = await open_reader(address)
    await reader.close()
    await store.close()


async def test_no_log_nor_error_shows_the_password_that_was_used() -> None:
    address = PostgresDatabase(DatabaseUrl("postgresql://u:correct%20horse@127.0.0.1:1/router"))
    with pytest.raises(StoreUnavailable, match=r"postgresql://127\.0\.0\.1:1/router") as failed:
        await open_reader(address)
    assert "horse" not in str(failed.value)
    for spelt in ("correct%20horse", "correct horse"):
        assert "horse" not in logs.REDACTOR.text(f"tried {spelt} in vain")


@pytest.mark.long
def test_without_the_driver_a_sentence_names_the_extra(tmp_path: Path) -> None:
    ran = alone(tmp_path, "asyncpg", "deliveries", "--store", URL)
    assert ran.returncode == 1
    assert ran.stderr.count("\n") == 1
    assert "pip install 'webhook-rules-router[postgres]'" in ran.stderr
    assert "hunter2" not in ran.stderr


@pytest.mark.long
def test_who_has_a_file_needs_no_driver(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("version: 1\n", "utf-8")
    ran = alone(tmp_path, "asyncpg", "deliveries")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("backup", "copy.db"), "its backups are PostgreSQL's own"),
        (("restore", "copy.db"), "its backups are PostgreSQL's own"),
    ],
)
def test_what_only_a_file_can_is_said(
    tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "rules.yaml").write_text("version: 1\n", "utf-8")
    ran = alone(tmp_path, "asyncpg", "store", *words, "--store", URL)
    assert ran.returncode == 1
    assert f"postgresql://127.0.0.1:1/router is a PostgreSQL database: {sentence}" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_file_of_a_database_is_refused() -> None:
    assert sqlite_path(SqliteFile("/a.db"), "x") == Path("/a.db")
    with pytest.raises(StoreRefused, match="PostgreSQL database: not here"):
        sqlite_path(DATABASE, "not here")


def test_a_node_has_the_name_that_is_written_or_the_host_s() -> None:
    assert node_name(PostgresDatabase(None, "DB", node="one")) == "one"
    assert node_name(PostgresDatabase(None, "DB")) == node_name(SqliteFile("/a.db")) != ""
