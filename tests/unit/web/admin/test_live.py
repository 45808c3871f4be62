"""The live feed and the ledger's order, asked through the admin listener."""

import base64
import re

import pytest

from router.model.job import Attempt, Settlement
from router.store.values import Acceptance, Accepted
from tests.builders import a_delivery, a_job
from tests.unit.web.admin.rig import Rig


async def test_the_feed_begins_with_a_hello_and_a_sign_of_life(rig: Rig) -> None:
    answer = await rig.ask("GET", "/api/feed", "viewer")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.body.startswith(b'retry: 2000\nevent: hello\ndata: {"heartbeat_s": 15}\n\n')
    assert b": still here\nid: b.0.0\n\n" in answer.body


async def test_a_place_that_is_not_known_is_reported_as_a_gap(rig: Rig) -> None:
    answer = await rig.ask("GET", "/api/feed", "viewer", headers={"last-event-id": "old.1.5"})
    assert b'event: gap\ndata: {"missed":null}' in answer.body


@pytest.mark.parametrize(
    "path",
    [
        "/api/feed?kinds=job",
        "/api/feed?since=1h",
        "/api/feed?endpoint=" + ",".join(f"e{n}" for n in range(101)),
        "/api/deliveries/after?cursor=x",
        "/api/deliveries/after?since=yesterday",
        "/api/deliveries/after?limit=x",
    ],
)
async def test_a_question_that_makes_no_sense_is_refused(rig: Rig, path: str) -> None:
    assert (await rig.ask("GET", path, "viewer")).status == 400


async def test_whole_deliveries_come_after_a_place(rig: Rig) -> None:
    second = await rig.world.take(2)
    first = await rig.ask("GET", "/api/deliveries/after?limit=1", "viewer")
    (reported,) = first.json["deliveries"]
    assert (reported["id"], first.json["more"]) == (rig.ids["delivery"], True)
    record = await rig.world.real.reads.delivery(reported["id"])
    assert record is not None
    assert base64.b64decode(reported["body_base64"]) == record.delivery.body
    assert [tuple(pair) for pair in reported["headers"]] == list(record.delivery.headers)
    assert [event["name"] for event in reported["events"]] == [record.events[0].name]
    rest = await rig.ask("GET", f"/api/deliveries/after?cursor={reported['cursor']}", "viewer")
    assert [one["id"] for one in rest.json["deliveries"]] == [second]
    assert (rest.json["more"], rest.json["removed"], rest.json["other"]) == (False, 0, False)


async def test_filters_leave_out(rig: Rig) -> None:
    record = await rig.world.real.reads.delivery(rig.ids["delivery"])
    assert record is not None
    name = record.events[0].name
    for query, count in (
        ("endpoint=shop", 1),
        ("endpoint=none", 0),
        (f"event=x,{name}", 1),
        ("event=x", 0),
        ("since=now", 0),
    ):
        answer = await rig.ask("GET", f"/api/deliveries/after?{query}", "viewer")
        assert (query, len(answer.json["deliveries"])) == (query, count)


@pytest.mark.parametrize(
    ("who", "query", "kinds"),
    [
        ("viewer", "", ["delivery", "attempt"]),
        ("viewer", "?kinds=attempt", ["attempt"]),
        ("hidden", "", ["delivery"]),
        ("hidden", "?kinds=delivery,attempt", ["delivery"]),
        ("hidden", "?kinds=delivery,duplicate", ["delivery"]),
    ],
)
async def test_attempts_are_reported_to_whoever_may_see_payloads(
    rig: Rig, who: str, query: str, kinds: list[str]
) -> None:
    """Whether or not it says what kinds it wants: an attempt's reason may quote an answer."""
    job = a_job()
    attempt = Attempt(job.id, 1, 1, 2, "fatal", "HTTP 400", {}, "0" * 64)
    rig.feed.delivered(Acceptance(a_delivery(), (), ()), Accepted("dlv_1"))
    rig.feed.attempted(job, Settlement(job.id, "b/1", attempt, "dead", reason="HTTP 400"))
    rig.feed.show()
    answer = await rig.ask("GET", f"/api/feed{query}", who, headers={"last-event-id": "b.0.0"})
    reported = re.findall(r"event: (delivery|duplicate|attempt)\n", answer.body.decode())
    assert reported == kinds


async def test_attempts_alone_are_refused_to_who_may_not_see_payloads(rig: Rig) -> None:
    assert (await rig.ask("GET", "/api/feed?kinds=attempt", "hidden")).status == 403


async def test_who_may_not_see_payloads_gets_none(rig: Rig) -> None:
    assert (await rig.ask("GET", "/api/deliveries/after", "hidden")).status == 403
    assert (await rig.ask("GET", "/api/feed", "hidden")).status == 200
    assert (await rig.ask("GET", "/api/feed")).status == 401
