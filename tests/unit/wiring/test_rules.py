"""A rules file from disk, and what the command line overrides."""

import subprocess
import sys
from pathlib import Path

import pytest

from router.errors import UsageError
from router.model.store_address import DatabaseUrl, PostgresDatabase, SqliteFile
from router.wiring.rules import Overrides, content_hash, read_rules, texts

RULES = """
version: 1
server: {listen: "0.0.0.0:8000", store: "sqlite:kept.db"}
endpoints: {open: {id: 97aa0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: github, verify: none}}
rules: [{id: r, from: open, actions: {log: hi}}]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file."""
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    return file


def test_the_file_says_where(path: Path) -> None:
    """Relative to itself."""
    ruleset = read_rules(path, environ={}).ruleset
    assert ruleset is not None
    assert (ruleset.server.listen, ruleset.server.store) == (
        "0.0.0.0:8000",
        SqliteFile(str(path.parent / "kept.db")),
    )


def test_dev_listens_on_loopback_and_has_a_store_of_its_own(path: Path) -> None:
    """The file's word is for production."""
    ruleset = read_rules(path, environ={}, dev=True).ruleset
    assert ruleset is not None
    assert ruleset.server.listen == "127.0.0.1:8000"
    assert ruleset.server.store == SqliteFile(str(path.parent / "router-dev.db"))


def test_dev_speaks_no_tls_at_either_listener(path: Path) -> None:
    """The certificates are for names that this machine does not have."""
    listener = "{cert: a.pem}"
    head = f'server: {{listen: "0.0.0.0:8000", tls: {listener}, admin: {{tls: {listener}}}}}'
    path.write_text(
        RULES.replace('server: {listen: "0.0.0.0:8000", store: "sqlite:kept.db"}', head)
    )
    there = read_rules(path, environ={}).ruleset
    here = read_rules(path, environ={}, dev=True).ruleset
    assert there is not None
    assert here is not None
    assert None not in (there.server.tls, there.server.admin_tls)
    assert (here.server.tls, here.server.admin_tls) == (None, None)


def test_the_command_line_has_the_last_word(path: Path, tmp_path: Path) -> None:
    """Over file and dev."""
    given = Overrides("127.0.0.1:1", "127.0.0.1:2", f"sqlite:{tmp_path}/o.db")
    ruleset = read_rules(path, environ={}, dev=True, overrides=given).ruleset
    assert ruleset is not None
    server = ruleset.server
    assert (server.listen, server.admin) == ("127.0.0.1:1", "127.0.0.1:2")
    assert server.store == SqliteFile(f"{tmp_path}/o.db")


DATABASE = "postgresql://router:hunter2hunter2@db.example.net/router"


def test_the_command_line_names_a_database_and_the_file_how_it_is_used(path: Path) -> None:
    """What lies beside it is then beside the file."""
    path.write_text("version: 1\nserver: {store: {url: {env: NOT_SET}, pool: 9, node: a}}\n")
    found = read_rules(path, environ={}, overrides=Overrides(store=DATABASE)).ruleset
    assert found is not None
    assert found.server.store == PostgresDatabase(DatabaseUrl(DATABASE), "NOT_SET", 9, "a")
    assert found.server.state == path.parent / "router"
    path.write_text("version: 1\n")
    found = read_rules(path, environ={}, overrides=Overrides(store=DATABASE)).ruleset
    assert found is not None
    assert found.server.store == PostgresDatabase(DatabaseUrl(DATABASE))


@pytest.mark.parametrize(
    ("server", "state"),
    [
        ("{}", "router.db"),
        ("{store: sqlite:data/kept.db}", "data/kept.db"),
        ("{store: sqlite:data/kept.db, state_dir: state}", "state/kept.db"),
        ("{store: {url: {env: DB}}}", "router"),
        ("{store: {url: {env: DB}}, state_dir: state}", "state/router"),
    ],
)
def test_where_lies_what_is_beside_the_store(path: Path, server: str, state: str) -> None:
    path.write_text(f"version: 1\nserver: {server}\n")
    found = read_rules(path, environ={}).ruleset
    assert found is not None
    assert found.server.state == path.parent / state


def test_development_has_a_file_whatever_is_written_and_refuses_a_database(path: Path) -> None:
    path.write_text("version: 1\nserver: {store: {url: {env: DB}}}\n")
    found = read_rules(path, environ={"DB": DATABASE}, dev=True).ruleset
    assert found is not None
    assert found.server.store == SqliteFile(str(path.parent / "router-dev.db"))
    with pytest.raises(UsageError, match="--dev works on a SQLite file") as refused:
        read_rules(path, environ={}, dev=True, overrides=Overrides(store=DATABASE))
    assert "hunter2" not in str(refused.value)


def test_a_file_that_is_not_there_is_a_mistake_of_the_command(tmp_path: Path) -> None:
    """With the file's name."""
    with pytest.raises(UsageError, match=r"other\.yaml"):
        read_rules(tmp_path / "other.yaml", environ={})


def test_bytes_that_are_no_text_are_a_fault_of_the_file(tmp_path: Path) -> None:
    """With the place."""
    file = tmp_path / "other.yaml"
    file.write_bytes(b"a\n\xff\xfe")
    loaded = read_rules(file, environ={})
    assert loaded.ruleset is None
    assert [(d.code, d.line, d.column) for d in loaded.diagnostics] == [("unreadable-text", 2, 1)]


def test_the_fingerprint_follows_content_and_plugins(path: Path, tmp_path: Path) -> None:
    """Not the time of writing."""
    before = content_hash(path, str(tmp_path))
    path.write_text(RULES)
    assert content_hash(path, str(tmp_path)) == before
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "desk.py").write_text("x = 1")
    with_plugin = content_hash(path, str(tmp_path))
    path.write_text(RULES + "\n# more")
    assert len({before, with_plugin, content_hash(path, str(tmp_path))}) == 3


def test_the_fingerprint_follows_what_is_included(path: Path, tmp_path: Path) -> None:
    """And files that begin to fit a pattern, even while the rules file is wrong."""
    path.write_text(RULES + "include: [parts/*.yaml, parts/x/*.yaml]\nrulez: 5\n")
    parts = tmp_path / "parts"
    seen = [content_hash(path, str(tmp_path))]
    parts.mkdir()
    for name, text in (("a", "version: 1"), ("b", "version: 1"), ("a", "version: 1 # more")):
        (parts / f"{name}.yaml").write_text(text)
        seen.append(content_hash(path, str(tmp_path)))
    (parts / "b.yaml").rename(parts / "c.yaml")
    seen.append(content_hash(path, str(tmp_path)))
    (parts / "c.yaml").unlink()
    seen.append(content_hash(path, str(tmp_path)))
    assert len(set(seen)) == len(seen)
    (parts / "a.test.yaml").write_text("tests are not served")
    (parts / "a.txt").write_text("nor is this")
    assert content_hash(path, str(tmp_path)) == seen[-1]


WITHOUT_FILES = """
import os, resource, sys
from pathlib import Path
from router.wiring.rules import content_hash
path, spare = Path(sys.argv[1]), int(sys.argv[2])
content_hash(path, str(path.parent))
most = max(map(int, os.listdir("/proc/self/fd"))) + 8
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    for one in held[:spare]:
        os.close(one)
try:
    print(content_hash(path, str(path.parent)))
except OSError as error:
    print(error.strerror)
"""


@pytest.mark.long
@pytest.mark.parametrize("parts", ["", "include: parts/*.yaml\n"])
def test_without_descriptors_there_is_no_fingerprint_but_an_error(
    path: Path, tmp_path: Path, parts: str
) -> None:
    """Another one would be taken for a change of the files."""
    path.write_text(RULES + parts)
    for name in ("plugins", "parts"):
        (tmp_path / name).mkdir()
    (tmp_path / "plugins" / "desk.py").write_text("x = 1")
    (tmp_path / "parts" / "a.yaml").write_text("version: 1")

    def reported(spare: int) -> str:
        command = [sys.executable, "-c", WITHOUT_FILES, str(path), str(spare)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    assert reported(0) == "Too many open files"
    assert reported(4) == content_hash(path, str(tmp_path))


def test_every_text_is_reported_with_its_file(path: Path, tmp_path: Path) -> None:
    """The rules file first."""
    path.write_text("include: more.yaml\n")
    (tmp_path / "more.yaml").write_text("version: 1\n")
    assert texts(path) == [
        (path, "include: more.yaml\n"),
        (tmp_path / "more.yaml", "version: 1\n"),
    ]
