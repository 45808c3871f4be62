"""What every test gets: bounded random examples, and no settings of the machine it runs on."""

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres.binaries import MISSING, installed
from tests.postgres.server import USER, Server
from tests.postgres.sharing import shared_server

settings.register_profile("default", max_examples=20, deadline=None)
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# What one of our processes compiles serves the others, and every program that they start.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # In the background of a shell; what we start would ignore it too, and some of it is to hear it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


MEMORY, ROOM = Path("/dev/shm"), 1 << 30  # noqa: S108 - what pytest makes there is ours alone


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--third", type=int, choices=range(3), help="every third test function")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of `--third N` only the functions whose name falls into that third, with all their cases."""
    third = config.getoption("third")
    if third is None:
        return
    chosen = [item for item in items if crc32(item.nodeid.partition("[")[0].encode()) % 3 == third]
    config.hook.pytest_deselected(items=list(set(items) - set(chosen)))
    items[:] = chosen


def pytest_configure(config: pytest.Config) -> None:
    """
    Temporary folders lie in memory where there is room: thousands of stores wait for no disk. Not
    those of a run of long tests, whose stores outlive faults on the machine's own disk.
    """
    if config.getoption("markexpr") != "long" and has_room(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def has_room(folder: Path) -> bool:
    """Whether we may write there, run what we wrote, and not fill it."""
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return False
    found = os.statvfs(folder)
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize > ROOM


def pytest_xdist_auto_num_workers() -> int:
    """One more than cores: the longest tests wait for processes of their own."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Ten thousand tests stay as long as the process: no garbage collection walks over them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable, keyring or router of the developer's reaches a test."""
    for name in [n for n in os.environ if n.startswith(("ROUTER_", "PG"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


@pytest.fixture(scope="session")
def postgres_binaries() -> Path:
    """The folder of PostgreSQL's programs; without them the test is skipped."""
    binaries = next(installed(), None)
    if binaries is None:
        pytest.skip(MISSING)
    return binaries


@pytest.fixture(scope="session")
def postgres_server(
    tmp_path_factory: pytest.TempPathFactory, worker_id: str, postgres_binaries: Path
) -> Iterator[Server]:
    """The PostgreSQL of this run, for all its processes."""
    own = tmp_path_factory.getbasetemp()
    with shared_server(own if worker_id == "master" else own.parent, postgres_binaries) as server:
        yield server


@pytest.fixture(scope="session")
def postgres(postgres_server: Server, worker_id: str) -> str:
    """The address of a database that is this process's own; it holds what earlier tests left."""
    postgres_server.execute(f"CREATE DATABASE {worker_id} OWNER {USER}")
    return postgres_server.address(worker_id)


@pytest.fixture
def new_database(postgres_server: Server, worker_id: str) -> Iterator[str]:
    """The name of a database in which nothing is, and which no other test has."""
    name = f"{worker_id}_new"
    postgres_server.execute(f"CREATE DATABASE {name} OWNER {USER}")
    yield name
    postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def empty_postgres(postgres: str) -> str:
    """The same; it may have the router's tables, but no rows of earlier tests."""
    from tests.postgres.emptying import emptied  # noqa: PLC0415 - a driver that few tests need

    await emptied(postgres)
    return postgres
