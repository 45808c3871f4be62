"""`router token new`, `list` and `revoke`."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from router.model.store_address import SqliteFile
from router.operator.tokens import digest_of
from router.wiring.stores import open_reader
from tests.unit.cli.conftest import Changes, Router

DAY_MS = 86_400_000


@pytest.fixture
def router_here(
    router: Router, rules: Path, changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> Router:
    monkeypatch.chdir(rules.parent)
    return changes(router, rules)


async def kept() -> list[tuple[str, str, int | None]]:
    store = await open_reader(SqliteFile("router.db"))
    try:
        facts = await store.recall("token/")
    finally:
        await store.close()
    return [(one["name"], one["digest"], one["until"]) for one in facts.values()]


def test_the_value_alone_goes_to_the_pipe_and_its_hash_to_the_store(router_here: Router) -> None:
    now = time.time_ns() // 1_000_000
    ran = router_here("token", "new", "ci", "--role", "operator", "--until", "90d")
    value = ran.out.strip()
    assert ran.code == 0, ran
    assert ran.out == f"{value}\n"
    assert "it is not shown again" in ran.err
    [(name, digest, until)] = asyncio.run(kept())
    assert (name, digest) == ("ci", digest_of(value.encode()))
    assert until is not None
    assert 0 <= until - now - 90 * DAY_MS < 60_000
    assert value not in router_here("token", "list", "--json").out


def test_made_listed_and_revoked(router_here: Router) -> None:
    made = json.loads(
        router_here("token", "new", "wall", "--role", "viewer", "--no-bodies", "--json").out
    )
    assert (made["name"], made["bodies"], made["by"]) == ("wall", False, "token")
    listed = router_here("token", "list").out.splitlines()
    assert [line.split()[:3] for line in listed[1:]] == [
        ["token", "admin", "shown"],
        ["wall", "viewer", "hidden"],
    ]
    assert "did you mean 'wall'" in router_here("token", "revoke", "walk").err
    assert router_here("token", "revoke", "wall").out == "wall revoked: it opens nothing any more\n"
    assert len(router_here("token", "list").out.splitlines()) == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ci"], "--role"),
        (["ci", "--role", "root"], "'root' is not one of"),
        (["ci", "--role", "viewer", "--until", "soon"], "is not a time"),
        (["ci", "--role", "viewer", "--until", "2020-01-01"], "until is over"),
        (["Ci", "--role", "viewer"], "cannot be the name of a token"),
    ],
)
def test_what_cannot_be_is_refused(router_here: Router, words: list[str], says: str) -> None:
    ran = router_here("token", "new", *words)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
