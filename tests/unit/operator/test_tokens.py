"""Tokens by name: who may make one, what is kept of it, when it counts and when no more."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from router.errors import NotFound, StoreUnavailable, UsageError
from router.model.named_token import NamedToken
from router.model.operations import Audit
from router.model.settings import AdminToken, SecretRef, ServerSettings
from router.operator.requests import By, TokenName, TokenRequest
from router.operator.tokens import (
    FRESH_S,
    PREFIX,
    TOKENS,
    TOKENS_MAX,
    USE_MS,
    USES,
    TokenLedger,
    digest_of,
    token_list,
)
from router.rules.live import LiveRuleset, SecretValues
from router.store.sqlite.store import open_store
from tests.builders import NOW, a_ruleset
from tests.clocks import ManualClock, settle
from tests.unit.operator.world import World

ANN = By("ann", "::1")
LINE = Audit("aud_1", 1, "ann", "new_token", {})


class Facts:
    """A store's facts; `held` keeps readings back, `gone` lets every one fail."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.reads = 0
        self.held: asyncio.Event | None = None
        self.gone = False
        self.written: list[str] = []

    async def recall(self, prefix: str) -> Mapping[str, Any]:
        self.reads += 1
        if self.gone:
            raise StoreUnavailable("disk")
        found = {n: v for n, v in sorted(self.kept.items()) if n.startswith(prefix)}
        if self.held is not None:
            await self.held.wait()
        return found

    async def remember(self, facts: Mapping[str, Any], audit: Any = None) -> None:
        if self.gone:
            raise StoreUnavailable("disk")
        self.written += facts
        self.kept |= facts
        self.kept = {n: v for n, v in self.kept.items() if v is not None}


def a_token(name: str = "ci", **given: Any) -> NamedToken:
    return NamedToken(name, "viewer", True, digest_of(name.encode()), 1, "ann", **given)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    store = await open_store(str(tmp_path / "router.db"), clock=ManualClock(NOW))
    yield World(store)
    await store.close()


async def names(ledger: TokenLedger) -> list[str]:
    return [one.name for one in await ledger.counting()]


async def test_a_token_is_told_once_and_kept_as_a_hash(world: World) -> None:
    request = TokenRequest("ci", "operator", bodies=False, until=world.clock.now() + 1)
    made = await world.operator.new_token(request, ANN)
    assert made.token.startswith(PREFIX)
    assert len(made.token) == len(PREFIX) + 43
    assert made.token not in repr(made)
    [kept] = await world.operator.tokens.counting()
    assert (kept.digest, kept.by) == (digest_of(made.token.encode()), "ann")
    everything = [await world.real.recall(""), await world.real.reads.audited(None, None, 9)]
    assert made.token[len(PREFIX) :].encode() not in msgspec.json.encode(everything)
    [row] = (await token_list(world.real, world.live.current.ruleset)).tokens[1:]
    assert (row.name, row.role, row.bodies, row.by) == ("ci", "operator", False, "ann")
    again = await world.operator.new_token(TokenRequest("cd"), ANN)
    assert again.token != made.token


async def test_who_made_and_revoked_it_is_in_the_audit(world: World) -> None:
    await world.operator.new_token(TokenRequest("ci", "operator"), ANN)
    await world.operator.revoke_token(TokenName("ci"), By("bob"))
    revoked, made = await world.real.reads.audited(None, None, 9)
    assert (made.who, made.verb, made.count) == ("ann", "new_token", 1)
    assert made.asked == {"name": "ci", "role": "operator"}
    assert (revoked.who, revoked.verb, revoked.count) == ("bob", "revoke_token", 1)


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (TokenRequest("Ci"), "cannot be the name of a token"),
        (TokenRequest("x" * 65), "cannot be the name of a token"),
        (TokenRequest(""), "cannot be the name of a token"),
        (TokenRequest("local"), "stand for others in the audit"),
        (TokenRequest("nobody"), "stand for others in the audit"),
        (TokenRequest("wall"), "the rules file has a token 'wall'"),
        (TokenRequest("there"), "there is a token 'there'; `router token revoke there`"),
        (TokenRequest("ci", "admin", bodies=False), "an admin sees payloads"),
        (TokenRequest("ci", until=1), "until is over"),
    ],
)
async def test_a_token_that_cannot_be_is_refused(
    world: World, request_: TokenRequest, says: str
) -> None:
    server = ServerSettings(admin_tokens=(AdminToken("wall", "wall"),))
    world.live.swap(LiveRuleset(a_ruleset(server=server), SecretValues({}, {})))
    await world.operator.new_token(TokenRequest("there"))
    with pytest.raises(UsageError, match=says):
        await world.operator.new_token(request_)
    assert await names(world.operator.tokens) == ["there"]


async def test_there_are_only_so_many(world: World) -> None:
    facts = {f"{TOKENS}t{n}": msgspec.to_builtins(a_token(f"t{n}")) for n in range(TOKENS_MAX)}
    await world.real.remember(facts)
    with pytest.raises(UsageError, match=f"there are {TOKENS_MAX} tokens"):
        await world.operator.new_token(TokenRequest("ci"))
    await world.operator.revoke_token(TokenName("t0"))
    await world.operator.new_token(TokenRequest("ci"))


async def test_only_what_is_there_and_ours_is_revoked(world: World) -> None:
    server = ServerSettings(admin_tokens=(AdminToken("wall", "wall"),))
    world.live.swap(LiveRuleset(a_ruleset(server=server), SecretValues({}, {})))
    await world.operator.new_token(TokenRequest("deploy"))
    with pytest.raises(NotFound, match="did you mean 'deploy'"):
        await world.operator.revoke_token(TokenName("deply"))
    with pytest.raises(UsageError, match="a token of the rules file"):
        await world.operator.revoke_token(TokenName("wall"))
    assert await names(world.operator.tokens) == ["deploy"]


async def test_what_changes_here_counts_at_once_and_elsewhere_soon() -> None:
    facts, clock = Facts(), ManualClock()
    here, there = TokenLedger(facts, clock), TokenLedger(facts, clock)
    for ledger in (here, there):
        assert await names(ledger) == []
    await here.keep("ci", a_token(), LINE)
    assert (await names(here), await names(there)) == (["ci"], [])
    await clock.advance(FRESH_S)
    assert await names(there) == ["ci"]
    await here.keep("ci", None, LINE)
    assert (await names(here), await names(there)) == ([], ["ci"])
    await clock.advance(FRESH_S)
    assert await names(there) == []


async def test_what_was_read_before_a_change_does_not_count_after_it() -> None:
    """A revoked token must not come back for a second because somebody was just looking."""
    facts, clock = Facts(), ManualClock()
    ledger = TokenLedger(facts, clock)
    await ledger.keep("ci", a_token(), LINE)
    facts.held = asyncio.Event()
    looking = asyncio.ensure_future(names(ledger))
    await settle()
    revoking = asyncio.ensure_future(ledger.keep("ci", None, LINE))
    await settle()
    facts.held.set()
    assert await looking == ["ci"]
    await revoking
    assert await names(ledger) == []


async def test_the_store_is_asked_at_most_once_a_second_however_many_come() -> None:
    facts, clock = Facts(), ManualClock()
    ledger = TokenLedger(facts, clock)
    await asyncio.gather(*[ledger.counting() for _ in range(20)])
    assert facts.reads == 1
    await clock.advance(FRESH_S)
    await ledger.counting()
    assert facts.reads == 2


async def test_without_waiting_only_what_is_fresh_is_known() -> None:
    facts, clock = Facts(), ManualClock()
    ledger = TokenLedger(facts, clock)
    await ledger.keep("ci", a_token(), LINE)
    assert ledger.fresh == []
    await ledger.counting()
    assert [one.name for one in ledger.fresh] == ["ci"]
    await clock.advance(FRESH_S)
    assert ledger.fresh == []


async def test_while_the_store_does_not_answer_nobody_is_let_in_by_what_it_said() -> None:
    facts, clock = Facts(), ManualClock()
    ledger = TokenLedger(facts, clock)
    await ledger.keep("ci", a_token(), LINE)
    await ledger.counting()
    facts.gone = True
    await clock.advance(FRESH_S)
    with pytest.raises(StoreUnavailable):
        await ledger.counting()
    ledger.used("ci")
    await settle()
    facts.gone = False
    assert await names(ledger) == ["ci"]


async def test_it_counts_until_its_time_is_over() -> None:
    facts, clock = Facts(), ManualClock()
    ledger = TokenLedger(facts, clock)
    await ledger.keep("ci", a_token(until=clock.now() + 500), LINE)
    assert await names(ledger) == ["ci"]
    await clock.advance(0.5)
    assert await names(ledger) == []


async def test_what_another_version_wrote_and_nobody_can_read_opens_nothing() -> None:
    facts = Facts()
    facts.kept = {f"{TOKENS}odd": {"name": "odd", "role": "emperor"}, f"{TOKENS}null": 7}
    ledger = TokenLedger(facts, ManualClock())
    await ledger.keep("ci", a_token(), LINE)
    assert await names(ledger) == ["ci"]


async def test_a_use_is_written_at_most_once_a_minute() -> None:
    facts, clock = Facts(), ManualClock()
    ledger = TokenLedger(facts, clock)
    for _ in range(100):
        ledger.used("ci")
        await clock.advance(0.1)
    await settle()
    assert facts.written == [f"{USES}ci"]
    assert facts.kept[f"{USES}ci"] == clock.now() - 10_000
    await clock.advance(USE_MS / 1_000)
    ledger.used("ci")
    await settle()
    assert facts.kept[f"{USES}ci"] == clock.now()


async def test_a_new_token_of_an_old_name_was_never_used() -> None:
    facts, clock = Facts(), ManualClock()
    ledger = TokenLedger(facts, clock)
    ledger.used("ci")
    await settle()
    await ledger.keep("ci", a_token(), LINE)
    [_, row] = (await token_list(facts, a_ruleset())).tokens
    assert row.used_at is None
    ledger.used("ci")
    await settle()
    [_, row] = (await token_list(facts, a_ruleset())).tokens
    assert row.used_at == clock.now()


async def test_those_of_files_are_listed_too() -> None:
    facts = Facts()
    facts.kept = {f"{USES}token": 5, f"{USES}wall": 6, f"{USES}odd": "x"}
    server = ServerSettings(admin_tokens=(AdminToken("wall", "wall", "operator", bodies=False),))
    ruleset = msgspec.structs.replace(
        a_ruleset(server=server), secrets={"wall": SecretRef("wall", env="W", until=9)}
    )
    found = [
        (row.name, row.role, row.bodies, row.kept, row.until, row.used_at)
        for row in (await token_list(facts, ruleset)).tokens
    ]
    assert found == [
        ("token", "admin", True, "file", None, 5),
        ("wall", "operator", False, "rules", 9, 6),
    ]
