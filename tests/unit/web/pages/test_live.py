"""The page of what happens: deliveries and refused requests, mixed by their times."""

import re

import pytest

from router.model.job import Attempt, Settlement
from router.store.values import Acceptance, Accepted
from tests.builders import NOW, a_delivery, a_job
from tests.unit.web.pages.rig import Rig, nodes


@pytest.mark.parametrize(
    ("who", "kinds"),
    [("viewer", ["delivery", "refusal", "attempt"]), ("hidden", ["delivery", "refusal"])],
)
async def test_attempts_are_reported_to_whoever_may_see_payloads(
    rig: Rig, who: str, kinds: list[str]
) -> None:
    """As through the API: the reason of an attempt may quote an answer."""
    await rig.log_in(who)
    job = a_job()
    attempt = Attempt(job.id, 1, 1, 2, "fatal", "HTTP 400", {}, "0" * 64)
    rig.feed.delivered(Acceptance(a_delivery(), (), ()), Accepted("dlv_1"))
    rig.feed.refused("shop", "bad_signature", 401, "192.0.2.1")
    rig.feed.attempted(job, Settlement(job.id, "b/1", attempt, "dead", reason="HTTP 400"))
    rig.feed.show()
    reported = (await rig.get("/live/feed", last_event_id="b.0.0")).body.decode()
    assert re.findall(r"event: (\w+)\n", reported)[1:] == kinds


async def shown(rig: Rig, query: str = "") -> list[str]:
    """Where the rows lead, in their order."""
    page = (await rig.get(f"/live/rows{query}")).body
    return [str(a["href"]) for tag, a in nodes(page).elements if tag == "a" and "data-row" in a]


def refuse(rig: Rig, at: int, kept: str | None = None) -> None:
    rig.refusals.add({"at": at, "endpoint": None, "reason": "unknown_endpoint", "status": 404,
                      "peer": "192.0.2.1", "hint": None, "kept": kept})  # fmt: skip


async def test_refused_requests_stand_between_deliveries(free: Rig) -> None:
    delivery = f"/deliveries/{free.ids['delivery']}"
    refuse(free, NOW - 1)
    refuse(free, NOW + 1, "ref_9")
    assert await shown(free) == ["/refused/ref_9", delivery, "/refused/ref_1", "/refused"]
    assert await shown(free, "?limit=2") == ["/refused/ref_9", delivery]


async def test_without_bodies_no_refused_request_is_linked(rig: Rig) -> None:
    await rig.log_in("hidden")
    assert "/refused" in await shown(rig)
    assert not [path for path in await shown(rig) if path.startswith("/refused/")]
