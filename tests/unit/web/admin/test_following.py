"""The signal and the ledger's order, asked through the admin listener."""

import asyncio
import base64
from typing import Any

import pytest

from router.web.admin.callers import Caller, HeldToken
from router.web.signal import HEARTBEAT_S
from router.web.signal_stream import HEARTBEAT
from tests.clocks import settle
from tests.unit.web.admin.rig import HERE, HOST, TOKENS, Rig

BOB = TOKENS["operator"]


async def test_the_signal_says_nothing_but_that_something_changed(rig: Rig) -> None:
    for who in ("viewer", "hidden"):
        answer = await rig.ask("GET", "/api/signal", who)
        assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.body == b"retry: 2000\n\n: listening\n\n"


@pytest.mark.parametrize(
    "path",
    [
        "/api/signal?since=1h",
        "/api/deliveries/after?endpoint=" + ",".join(f"e{n}" for n in range(101)),
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


async def test_who_may_not_see_payloads_gets_none(rig: Rig) -> None:
    assert (await rig.ask("GET", "/api/deliveries/after", "hidden")).status == 403
    assert (await rig.ask("GET", "/api/signal")).status == 401


@pytest.mark.parametrize(
    ("later", "goes_on"),
    [
        (Caller("bob", "operator"), True),
        (Caller("bob", "viewer"), False),
        (Caller("bob", "operator", bodies=False), False),
        (Caller("bob", "admin"), False),
        (Caller("ann", "operator"), False),
        (None, False),
    ],
)
async def test_who_has_other_rights_now_is_let_go(
    rig: Rig, later: Caller | None, goes_on: bool
) -> None:
    """A client that may no longer do what it could when it asked must ask again."""
    given = {"host": HOST, "authorization": f"Bearer {BOB.value.decode()}"}
    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "scheme": "http", "path": "/api/signal",
        "raw_path": b"/api/signal", "query_string": b"", "client": HERE,
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    listening = asyncio.ensure_future(rig.admin.serve(scope, asyncio.Event().wait, send))
    beating = asyncio.ensure_future(rig.signal.beat())
    await rig.signal.heard.wait()
    rig.held = [] if later is None else [HeldToken(later, BOB.value)]
    await rig.clock.advance(HEARTBEAT_S)
    await settle()
    assert (sent[-1]["body"] == HEARTBEAT, listening.done()) == (goes_on, not goes_on)
    beating.cancel()
    listening.cancel()
    await asyncio.gather(beating, listening, return_exceptions=True)
