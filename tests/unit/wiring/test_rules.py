"""A rules file from disk, and what the command line overrides."""

from pathlib import Path

import pytest

from router.errors import UsageError
from router.wiring.rules import Overrides, content_hash, read_rules

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
        str(path.parent / "kept.db"),
    )


def test_dev_listens_on_loopback_and_has_a_store_of_its_own(path: Path) -> None:
    """The file's word is for production."""
    ruleset = read_rules(path, environ={}, dev=True).ruleset
    assert ruleset is not None
    assert ruleset.server.listen == "127.0.0.1:8000"
    assert ruleset.server.store == str(path.parent / "router-dev.db")


def test_the_command_line_has_the_last_word(path: Path, tmp_path: Path) -> None:
    """Over file and dev."""
    given = Overrides("127.0.0.1:1", "127.0.0.1:2", f"sqlite:{tmp_path}/o.db")
    ruleset = read_rules(path, environ={}, dev=True, overrides=given).ruleset
    assert ruleset is not None
    server = ruleset.server
    assert (server.listen, server.admin) == ("127.0.0.1:1", "127.0.0.1:2")
    assert server.store == f"{tmp_path}/o.db"


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_an_unreadable_file_is_a_mistake_of_the_command(
    tmp_path: Path, content: bytes | None
) -> None:
    """With the file's name."""
    file = tmp_path / "other.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=r"other\.yaml"):
        read_rules(file, environ={})


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
