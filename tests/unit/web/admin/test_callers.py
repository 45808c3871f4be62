"""Whose token it is, and how often somebody may guess."""

import asyncio
import hmac
from pathlib import Path

import pytest

from router.errors import StoreUnavailable
from router.model.settings import ROLES, AdminRole
from router.operator.requests import TokenName, TokenRequest
from router.operator.tokens import USES, TokenLedger
from router.store.sqlite.store import open_store
from router.web.admin.browsers import Hosts
from router.web.admin.callers import (
    ANYONE,
    NOBODY,
    Caller,
    Callers,
    HeldToken,
    TooManyWrongTokens,
    WrongToken,
)
from router.web.admin.problems import Rejected
from router.web.admin.token_throttle import (
    ALLOWED,
    HELD_MAX,
    KEPT,
    PAUSE_S,
    WINDOW_S,
    TokenThrottle,
)
from tests.clocks import ManualClock, settle
from tests.unit.operator.test_tokens import LINE, Facts, a_token
from tests.unit.operator.world import World
from tests.unit.web.admin.rig import TOKENS, Rig

ANN = HeldToken(Caller("ann"), b"ann-token-ann-token-ann")


async def wrong(callers: Callers, peer: str, number: int, *, fresh: bool = True) -> None:
    with pytest.raises(WrongToken) as error:
        await callers.of(b"guess %d" % number, peer)
    assert error.value.fresh is fresh


async def slowed(clock: ManualClock, callers: Callers, peer: str) -> int:
    """One more wrong token is answered late; what it is told to wait."""
    asked = asyncio.ensure_future(callers.of(b"one more", peer))
    await clock.advance(PAUSE_S - 0.01)
    assert not asked.done()
    await clock.advance(0.01)
    with pytest.raises(TooManyWrongTokens) as error:
        await asked
    return error.value.wait_s


async def passes(callers: Callers, peer: str) -> bool:
    """Whether the right token is let in at once."""
    asked = asyncio.ensure_future(callers.of(ANN.value, peer))
    await settle()
    return asked.done() and await asked is ANN.caller


async def test_a_token_without_a_value_is_nobody_s() -> None:
    """A secret that came out empty must not let in whoever sends nothing."""
    callers = Callers(lambda: [HeldToken(Caller("eve", "operator"), b""), ANN], clock=ManualClock())
    with pytest.raises(WrongToken):
        await callers.of(b"", "192.0.2.1")
    assert await passes(callers, "192.0.2.1")


@pytest.mark.parametrize("right", [0, 1, 2])
async def test_a_token_is_compared_with_every_one_that_counts(
    right: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The standard library's comparison in constant time, and no end at the first that fits."""
    compared: list[bool] = []
    compare = hmac.compare_digest

    def counted(a: bytes, b: bytes) -> bool:
        compared.append(compare(a, b))
        return compared[-1]

    monkeypatch.setattr(hmac, "compare_digest", counted)
    held = [HeldToken(Caller(f"c{n}"), b"token" * (n + 3)) for n in range(3)]
    found = await Callers(lambda: held, clock=ManualClock()).of(held[right].value, "192.0.2.1")
    assert found is held[right].caller
    assert compared == [n == right for n in range(3)]


async def test_too_many_guesses_slow_the_wrong_ones_of_an_address_and_no_right_one() -> None:
    clock = ManualClock()
    callers = Callers(lambda: [ANN], clock=clock)
    for number in range(ALLOWED):
        await wrong(callers, "192.0.2.1", number)
    assert await slowed(clock, callers, "192.0.2.1") == WINDOW_S - PAUSE_S + 1
    assert await passes(callers, "192.0.2.1")
    await wrong(callers, "192.0.2.2", 1)
    await clock.advance(WINDOW_S)
    await wrong(callers, "192.0.2.1", 1)


async def test_so_many_answers_are_held_back_and_no_more() -> None:
    """What waits takes memory; beyond the bound wrong ones are refused at once."""
    clock = ManualClock()
    callers = Callers(lambda: [ANN], clock=clock)
    for number in range(ALLOWED):
        await wrong(callers, "192.0.2.1", number)
    held = [asyncio.ensure_future(callers.of(b"one more", "192.0.2.1")) for _ in range(HELD_MAX)]
    await settle()
    assert not any(asked.done() for asked in held)
    with pytest.raises(TooManyWrongTokens):
        await callers.of(b"one more", "192.0.2.1")
    assert await passes(callers, "192.0.2.1")
    held.pop().cancel()
    await clock.advance(PAUSE_S)
    ends = await asyncio.gather(*held, return_exceptions=True)
    assert {type(end) for end in ends} == {TooManyWrongTokens}
    await slowed(clock, callers, "192.0.2.1")


async def test_one_old_token_again_and_again_slows_nobody() -> None:
    callers = Callers(lambda: [ANN], clock=ManualClock())
    for time in range(10 * ALLOWED):
        await wrong(callers, "127.0.0.1", 1, fresh=time == 0)
    assert await passes(callers, "127.0.0.1")


async def test_an_ipv6_network_is_one_guesser() -> None:
    clock = ManualClock()
    callers = Callers(lambda: [ANN], clock=clock)
    for number in range(ALLOWED):
        await wrong(callers, f"2001:db8::{number:x}", number)
    await slowed(clock, callers, "2001:db8::ffff")
    await wrong(callers, "2001:db8:0:1::1", 1)


async def test_memory_is_bounded_and_a_crowd_shares_one_window() -> None:
    clock = ManualClock()
    guesses = TokenThrottle(clock)
    for number in range(KEPT + 5_000):
        guesses.wrong(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", b"%d" % number)
    held = guesses._windows
    assert len(held) == KEPT
    assert guesses.wait_s("10.99.0.1") == WINDOW_S
    assert guesses.wait_s("10.0.0.1") == 0
    await clock.advance(WINDOW_S)
    guesses.wrong("192.0.2.1", b"x")
    assert len(held) == 1
    assert guesses.wait_s("10.99.0.1") == 0


async def test_it_is_reported_with_retry_after(rig: Rig) -> None:
    for number in range(ALLOWED):
        given = {"authorization": f"Bearer guess-{number}"}
        assert (await rig.ask("GET", "/api/whoami", headers=given)).status == 401
    given = {"authorization": "Bearer one-more"}
    asked = asyncio.ensure_future(rig.ask("GET", "/api/whoami", headers=given))
    assert (await rig.ask("GET", "/api/whoami", "viewer")).status == 200
    await rig.clock.advance(PAUSE_S)
    answer = await asked
    assert (answer.status, answer.headers["retry-after"]) == (429, "60")
    assert b"give the right one" in answer.body
    assert (await rig.ask("GET", "/livez")).status == 200


def test_tokens_are_not_printed() -> None:
    assert "ann-token" not in repr([TOKENS, ANN])


ANY = "0.0.0.0"  # noqa: S104 - where to listen
LOOPBACK, OPEN = "127.0.0.1:8001", f"{ANY}:8001"


@pytest.mark.parametrize(
    ("listen", "host", "served"),
    [
        (LOOPBACK, "localhost", True),
        (LOOPBACK, "LOCALHOST:1", True),
        (LOOPBACK, "127.0.0.1", True),
        (LOOPBACK, "[::1]:8001", True),
        (LOOPBACK, "ops.lan:8001", True),
        (LOOPBACK, "10.0.0.5", False),
        (LOOPBACK, "evil.example", False),
        (LOOPBACK, "ops.lan.evil.example", False),
        (LOOPBACK, "", False),
        (LOOPBACK, "127.0.0.1:x", False),
        (LOOPBACK, "[::1", False),
        (LOOPBACK, ANY, False),
        (OPEN, "10.0.0.5:8001", True),
        (OPEN, "[2001:db8::1]", True),
        (OPEN, ANY, False),
        (OPEN, "evil.example", False),
        ("admin.lan:8001", "admin.lan", True),
        ("10.0.0.5:8001", "10.0.0.5:8001", True),
        (":8001", "evil.example", False),
    ],
)
def test_by_which_names_it_is_called(listen: str, host: str, served: bool) -> None:
    hosts = Hosts(listen, ("ops.lan", ANY))
    if served:
        assert hosts.check([(b"host", host.encode())]) == host.lower()
        return
    with pytest.raises(Rejected):
        hosts.check([(b"host", host.encode())])


async def test_whoever_has_no_address_is_a_guesser_of_its_own() -> None:
    """A socket of the machine has no address; it shares no window with an address."""
    clock = ManualClock()
    callers = Callers(lambda: [ANN], clock=clock)
    for number in range(ALLOWED):
        await wrong(callers, "", number)
    await slowed(clock, callers, "")
    for peer in ("192.0.2.1", "/run/router.sock"):
        await wrong(callers, peer, 1)


def test_how_many_guesses_of_how_many_in_how_long() -> None:
    assert (ALLOWED, WINDOW_S, KEPT) == (10, 60, 1_000)
    assert (PAUSE_S, HELD_MAX) == (1, 100)


async def test_an_address_whose_minute_is_over_begins_anew() -> None:
    """Others' windows are still open then; it does not go among the crowd."""
    clock = ManualClock()
    guesses = TokenThrottle(clock)
    for number in range(ALLOWED):
        assert guesses.wrong("192.0.2.1", b"%d" % number)
    assert not guesses.wrong("192.0.2.1", b"0")
    await clock.advance(WINDOW_S - 0.5)
    assert guesses.wait_s("192.0.2.1") == 1, "half a second is told as a whole one"
    guesses.wrong("192.0.2.2", b"x")
    await clock.advance(0.5)
    assert guesses.wait_s("192.0.2.1") == 0
    assert guesses.wrong("192.0.2.1", b"0")
    assert guesses.wait_s("192.0.2.1") == 0


async def test_where_no_token_is_asked_for_anyone_calls() -> None:
    callers = Callers(None, clock=ManualClock())
    assert not callers.required
    assert await callers.of(b"", "192.0.2.1") is ANYONE
    assert Callers(list, clock=ManualClock()).required


def test_who_needs_no_token_is_named_so() -> None:
    """Nobody may see nothing of what came in; anyone, where no token is asked for, may do all."""
    assert Caller("nobody", "viewer", bodies=False) == NOBODY
    assert Caller("anyone", "admin", bodies=True) == ANYONE
    assert Caller("ann") == Caller("ann", "viewer", bodies=True)


async def test_named_tokens_open_too_and_no_more_once_revoked(tmp_path: Path) -> None:
    clock = ManualClock()
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    verbs = World(store).operator
    callers = Callers(lambda: [ANN], verbs.tokens, clock=clock)
    made = await verbs.new_token(TokenRequest("ci", "operator", bodies=False))
    value = made.token.encode()
    assert await callers.of(value, "192.0.2.1") == Caller("ci", "operator", bodies=False)
    assert callers.holder_now(value) is not None
    await verbs.revoke_token(TokenName("ci"))
    assert callers.holder_now(value) is None
    with pytest.raises(WrongToken):
        await callers.of(value, "192.0.2.1")
    await store.close()


async def test_a_token_of_a_file_opens_while_the_store_does_not_answer() -> None:
    """And who holds none is told that nobody can say now, not that the token is wrong."""
    clock = ManualClock()
    facts = Facts()
    facts.gone = True
    callers = Callers(lambda: [ANN], TokenLedger(facts, clock), clock=clock)
    assert await callers.of(ANN.value, "192.0.2.1") is ANN.caller
    with pytest.raises(StoreUnavailable):
        await callers.of(b"rtr_one", "192.0.2.1")
    with pytest.raises(WrongToken):
        await callers.of(b"", "192.0.2.1")


async def test_who_came_in_was_seen_whatever_token_it_was() -> None:
    facts, clock = Facts(), ManualClock()
    ledger = TokenLedger(facts, clock)
    await ledger.keep("ci", a_token(), LINE)
    callers = Callers(lambda: [ANN], ledger, clock=clock)
    await callers.of(ANN.value, "192.0.2.1")
    await callers.of(b"ci", "192.0.2.1")
    with pytest.raises(WrongToken):
        await callers.of(b"guess", "192.0.2.1")
    await settle()
    assert [name for name in facts.kept if name.startswith(USES)] == [f"{USES}ann", f"{USES}ci"]


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_what_those_before_it_may(role: AdminRole) -> None:
    may = [access for access in ("open", "loopback", *ROLES) if Caller("a", role).may(access)]
    assert may == ["open", "loopback", *ROLES[: ROLES.index(role) + 1]]
