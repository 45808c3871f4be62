"""Named tokens in every store, and on every node of one."""

import pytest

from router.model.named_token import NamedToken
from router.model.operations import Audit
from router.operator.tokens import FRESH_S, TOKENS, TokenLedger
from router.store.protocol import Store
from tests.clocks import START_MS, ManualClock

CI = NamedToken("ci", "operator", False, "ab" * 32, START_MS, "ann", START_MS + 5_000)


def a_line(id_: str, verb: str) -> Audit:
    return Audit(id_, START_MS, "ann", verb, {"name": "ci"})


async def test_what_is_kept_counts_until_it_is_revoked(store: Store, clock: ManualClock) -> None:
    here, there = TokenLedger(store, clock), TokenLedger(store, clock)
    assert await there.counting() == []
    await here.keep("ci", CI, a_line("aud_1", "new_token"))
    assert await here.counting() == [CI]
    await clock.advance(FRESH_S)
    assert await there.counting() == [CI]
    await here.keep("ci", None, a_line("aud_2", "revoke_token"))
    assert await here.counting() == []
    await clock.advance(FRESH_S)
    assert await there.counting() == []
    assert await store.recall(TOKENS) == {}
    lines = await store.reads.audited(None, None, 9)
    assert [(line.verb, line.count) for line in lines] == [("revoke_token", 1), ("new_token", 1)]


@pytest.mark.parametrize("after_ms", [0, 4_999, 5_000])
async def test_its_end_is_wall_time(store: Store, clock: ManualClock, after_ms: int) -> None:
    ledger = TokenLedger(store, clock)
    await ledger.keep("ci", CI, a_line("aud_1", "new_token"))
    await clock.advance(after_ms / 1_000)
    assert await ledger.counting() == ([CI] if after_ms < 5_000 else [])
