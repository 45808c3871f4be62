"""Questions and their answers on a real store."""

import json
from typing import Any

import pytest

from router.errors import NotFound
from router.legible import exact
from router.model.job import ENDED
from router.model.operations import Audit
from router.model.settings import Api, Endpoint
from router.operator.answers import HIDDEN
from router.rules.live import LiveRuleset, SecretValues
from router.store.time_text import instant
from router.store.values import Selector
from tests.builders import GENERATION, NOW, a_rule, a_ruleset
from tests.unit.web.admin.rig import Rig

LISTS = {
    "/api/deliveries": "deliveries",
    "/api/jobs": "jobs",
}


async def pages(rig: Rig, path: str, name: str, limit: int, between: Any = None) -> list[Any]:
    """Everything of a list, a page at a time; `between` may add to it meanwhile."""
    found: list[Any] = []
    cursor = ""
    while True:
        mark = f"&cursor={cursor}" if cursor else ""
        answer = await rig.ask("GET", f"{path}?limit={limit}{mark}", "viewer")
        assert answer.status == 200, answer.body
        found += answer.json[name]
        assert len(answer.json[name]) <= limit
        cursor = answer.json["next"]
        if cursor is None:
            return found
        if between is not None:
            await between()


@pytest.mark.parametrize("path", LISTS)
async def test_pages_hold_everything_once_while_more_arrives(rig: Rig, path: str) -> None:
    for number in range(2, 12):
        await rig.world.take(number)
    batch = await rig.world.real.lease({"one": 9, "two": 9}, lease="b.2", now=NOW + 50)
    assert batch.jobs
    whole = await pages(rig, path, LISTS[path], 500)
    assert whole
    later = iter(range(100, 200))

    async def more() -> None:
        await rig.world.take(next(later))

    found = await pages(rig, path, LISTS[path], 3, more)
    assert [one for one in found if one in whole] == whole
    assert len({str(one) for one in found}) == len(found)
    assert await pages(rig, path, LISTS[path], 1) == await pages(rig, path, LISTS[path], 500)


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("endpoint=shp", 400, "there is no endpoint 'shp'; did you mean 'shop'?"),
        ("rule=three", 400, "there is no rule 'three'; `router rules` lists them"),
        ("cause=0123456789ab", 400, "there is no cause '0123456789ab'; `router dead` lists them"),
        ("replay=rpl_nosuch", 400, "there is no replay 'rpl_nosuch'; `router audit` lists them"),
        ("id=dlv_ZZZZZZZZ", 404, "no delivery or job has the id 'dlv_ZZZZZZZZ'"),
        ("id=dlv_000", 404, "'dlv_000' is too short: write 4 or more characters after dlv_"),
    ],
)
async def test_a_selector_of_what_is_not_there_is_said(
    query: str, status: int, words: str, rig: Rig
) -> None:
    """An empty list would look like an answer."""
    for path in (*LISTS, "/api/dead"):
        answer = await rig.ask("GET", f"{path}?{query}", "viewer")
        assert (answer.status, words in answer.json["detail"]) == (status, True), answer.json


async def test_the_selector_narrows_every_list(rig: Rig) -> None:
    for path, name in LISTS.items():
        for query, found in (
            ("endpoint=shop", True),
            ("event=unknown", True),
            ("event=unknow", False),
            (f"since={NOW - 1000}&until={NOW + 1000}", True),
            (f"since={NOW + 90_000}", False),
            (f"id={rig.ids['delivery']}", True),
            ("rule=one", True),
            ("state=dead", True),
            ("state=cancelled", False),
        ):
            answer = await rig.ask("GET", f"{path}?{query}", "viewer")
            assert bool(answer.json[name]) is found, (path, query)


async def test_the_time_of_an_answer_is_one_that_the_selector_takes(rig: Rig) -> None:
    [*_, first] = (await rig.ask("GET", "/api/deliveries", "viewer")).json["deliveries"]
    at = first["received_at"]
    assert at == exact(instant(at, NOW))
    for span, found in ((f"since={at}&until=", True), (f"until={at}", False)):
        answer = await rig.ask("GET", f"/api/deliveries?id={first['id']}&{span}", "viewer")
        assert bool(answer.json["deliveries"]) is found, span
    since = json.dumps({"selector": {"since": at}, "dry_run": True}).encode()
    assert (await rig.ask("POST", "/api/cancel", "operator", body=since)).status == 200
    [(_, (_, request, _))] = rig.operator.calls
    assert request.selector.since == instant(at, NOW)


async def test_a_sender_has_the_name_that_its_endpoint_gives_it(rig: Rig) -> None:
    """The store keeps the canonical one."""
    shop = Endpoint("shop", "shopify", ("/wh_x",), ("shop",), api=Api(spelling="commerce"))
    rig.world.live.swap(LiveRuleset(a_ruleset(endpoints={"shop": shop}), SecretValues({}, {})))
    one = f"/api/deliveries/{rig.ids['delivery']}"
    answers = {
        path: (await rig.ask("GET", path, "viewer")).json
        for path in (
            "/api/deliveries",
            "/api/deliveries/after",
            one,
        )
    }
    assert answers["/api/deliveries"]["deliveries"][0]["provider"] == "commerce"
    assert answers["/api/deliveries/after"]["deliveries"][0]["provider"] == "commerce"
    assert answers[one]["provider"] == "commerce"
    assert (await rig.reading.record(rig.ids["delivery"])).delivery.provider == "shopify"


async def test_where_looks_into_payloads_and_only_for_those_who_may(rig: Rig) -> None:
    await rig.world.take(2)
    for path in ("/api/deliveries", "/api/jobs"):
        name = LISTS[path]
        all_of_them = (await rig.ask("GET", path, "viewer")).json[name]
        some = (await rig.ask("GET", f"{path}?where=payload.id==2", "viewer")).json
        assert 0 < len(some[name]) < len(all_of_them)
        assert some["failed"] == 0
        assert (await rig.ask("GET", f"{path}?where=payload.id==9", "viewer")).json[name] == []
        assert (await rig.ask("GET", f"{path}?where=payload.(", "viewer")).status == 400
        assert (await rig.ask("GET", f"{path}?where=payload.id", "hidden")).status == 403


async def test_an_export_goes_on_until_nothing_is_next(rig: Rig) -> None:
    await rig.world.take(2)
    asked = '/api/export?where=payload.id==var.id%26%26`true`&var={"id":2}'.replace('"', "%22")
    found, cursor = [], ""
    while cursor is not None:
        answer = await rig.ask("GET", asked + (f"&cursor={cursor}" if cursor else ""), "viewer")
        found += answer.json["deliveries"]
        cursor = answer.json["next"]
    everything = (await rig.ask("GET", "/api/deliveries?where=payload.id==2", "viewer")).json
    assert [one["id"] for one in found] == [one["id"] for one in everything["deliveries"]]
    assert [event["payload"] for one in found for event in one["events"]] == [{"id": 2}]
    assert (await rig.ask("GET", f"{asked}&endpoint=shp", "viewer")).status == 400


async def test_one_delivery_by_its_beginning_and_its_bytes(rig: Rig) -> None:
    whole = rig.ids["delivery"]
    for name in (whole, whole[:24], whole[4:]):
        answer = await rig.ask("GET", f"/api/deliveries/{name}", "viewer")
        assert (answer.status, answer.json["id"]) == (200, whole)
        assert [job["id"] for job in answer.json["jobs"]]
    body = await rig.ask("GET", f"/api/deliveries/{whole}/body", "viewer")
    assert body.body == b'{"id": 1}'
    assert body.headers["content-type"] == "application/octet-stream"
    assert body.headers["content-disposition"] == "attachment"
    for path in ("deliveries/dlv_0000000000", "jobs/job_0000000000", "generations/ffff"):
        assert (await rig.ask("GET", f"/api/{path}", "viewer")).status == 404


async def test_explain_tells_of_every_rule(rig: Rig) -> None:
    reason, event = await rig.reading.explain(rig.ids["delivery"], 0)
    assert reason is None
    assert [(rule["rule"], rule["status"]) for rule in event["rules"]] == [
        ("one", "matched"),
        ("two", "matched"),
    ]
    with pytest.raises(NotFound, match="it has no event 1: its events are 0 to 0"):
        await rig.reading.explain(rig.ids["delivery"], 1)


async def test_a_generation_that_cannot_be_read_any_more_is_said(rig: Rig) -> None:
    newer = a_ruleset(a_rule("one"), generation="f" * 64)
    rig.world.live.swap(LiveRuleset(newer, SecretValues({}, {})))
    with pytest.raises(NotFound, match="which decided, cannot be read any more"):
        await rig.reading.explain(rig.ids["delivery"], 0)


async def test_without_bodies_nothing_that_came_in_or_was_sent_is_shown(rig: Rig) -> None:
    one = (await rig.ask("GET", f"/api/deliveries/{rig.ids['delivery']}", "hidden")).json
    assert all(value == HIDDEN for _, value in one["headers"])
    assert one["attempts"][0]["result"] == {"exit": 1}
    assert {job["reason"] for job in one["jobs"]} == {f"exit 1: {HIDDEN}", None}
    for route in rig.routes:
        if route.method == "GET" and route.path != "/api/output":
            answer = await rig.ask("GET", rig.path_of(route), "hidden")
            assert b"secret words" not in answer.body, route.path
            assert b"of the body" not in answer.body, route.path


async def test_rules_are_reported_with_jobs_and_counters(rig: Rig) -> None:
    reported = (await rig.ask("GET", "/api/rules", "viewer")).json
    assert reported["generation"] == GENERATION
    assert [(rule["rule"], rule["from"]) for rule in reported["rules"]] == [
        ("one", ["shop"]),
        ("two", ["shop"]),
    ]
    rig.world.live.swap(LiveRuleset(a_ruleset(a_rule("new")), SecretValues({}, {})))
    reported = (await rig.ask("GET", "/api/rules", "viewer")).json
    modes = {rule["rule"]: rule["mode"] for rule in reported["rules"]}
    assert modes == {"new": "live", "two": "orphan"}


async def test_dead_jobs_by_cause(rig: Rig) -> None:
    [cause] = (await rig.ask("GET", "/api/dead", "viewer")).json["causes"]
    assert (cause["rule"], cause["count"], cause["examples"]) == ("one", 1, [rig.ids["job"]])
    same = await rig.ask("GET", f"/api/jobs?cause={cause['key']}", "viewer")
    assert [job["id"] for job in same.json["jobs"]] == [rig.ids["job"]]


async def test_the_audit_pages_by_time_even_when_much_happens_at_once(rig: Rig) -> None:
    for number in range(9):
        line = Audit(f"aud_{number}", NOW + number // 4, "ann", "cancel", {}, 1, "::1")
        await rig.world.real.note(line)
    whole = await pages(rig, "/api/audit", "audit", 500)
    assert [line["id"] for line in whole] == [f"aud_{n}" for n in range(8, -1, -1)]
    assert await pages(rig, "/api/audit", "audit", 2) == whole


async def test_job_states_are_counted_by_index(rig: Rig) -> None:
    states = await rig.world.real.reads.open_states()
    jobs = await rig.world.real.reads.jobs(Selector(limit=100))
    assert states == {"available": 1, "dead": 1}
    assert len([job for job in jobs if job.state not in ENDED]) == 1
