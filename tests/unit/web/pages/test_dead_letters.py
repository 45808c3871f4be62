"""The number of dead letters on every page: fresh enough, and asked for seldom."""

from router.errors import StoreUnavailable
from router.web.pages.dead_letters import KEPT_S, DeadLetterCount
from tests.clocks import ManualClock
from tests.unit.web.pages.rig import Rig


async def test_it_is_asked_for_once_in_a_while() -> None:
    clock, asked = ManualClock(), list[int]()

    async def ask() -> int:
        asked.append(1)
        if len(asked) == 2:
            raise StoreUnavailable
        return len(asked)

    count = DeadLetterCount(ask, clock)
    seen = []
    for _ in range(3):
        await count.renew()
        await count.renew()
        seen.append(count.known)
        await clock.advance(KEPT_S)
    assert (seen, len(asked)) == ([1, 1, 3], 3)


async def test_every_page_says_it_and_a_page_of_nobody_does_not(rig: Rig) -> None:
    assert b"s-dead" not in (await rig.get("/login")).body
    await rig.log_in("hidden")
    for path in ("/rules", "/nothing"):
        assert b'Dead letters <span class="badge s-dead">1</span>' in (await rig.get(path)).body
