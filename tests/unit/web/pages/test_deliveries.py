"""Pages of deliveries and of work: what they show, how much at most, and what their buttons do."""

import re
from pathlib import Path
from typing import Any

import pytest

from router.model.delivery import Redaction
from router.model.job import Attempt
from router.model.target import TargetRow
from router.operator.answers import JobOutput
from router.operator.requests import TargetRequest
from router.store.values import Acceptance, Selector
from router.web.pages import router_pages, shown
from router.web.pages.assets import Assets
from router.web.pages.rendering import Renderer
from tests.builders import NOW, a_delivery, a_job
from tests.store_values import Maker, a_settlement
from tests.unit.web.pages.rig import Rig, a_rig, nodes


async def page_of(rig: Rig, path: str) -> str:
    answer = await rig.get(path)
    assert answer.status == 200, answer.body
    return answer.body.decode()


async def stored(rig: Rig, number: int, **given: Any) -> list[str]:
    """So many deliveries more; their ids, newest first."""
    maker = Maker(seed=7)
    ids = []
    for _ in range(number):
        one: Acceptance = maker.acceptance(**given)
        await rig.store.accept(one)
        ids.append(one.delivery.id)
    return ids[::-1]


async def test_a_delivery_has_everything_on_its_page(free: Rig) -> None:
    page = await page_of(free, f"/deliveries/{free.ids['delivery']}")
    for words in (
        "by secret &#39;shop&#39;", "received once", "routed", free.ids["job"], "x-odd: plain",
        "Rule results for event 0", "curl -sS -X &#39;POST&#39;", "Replay", "Try a condition",
        "status:", "dead", "download, byte for byte",
    ):  # fmt: skip
        assert words in page, words


async def test_what_was_taken_out_of_a_delivery_is_on_its_page(free: Rig) -> None:
    mark = Redaction(NOW, "ab" * 32, ("payload.<b>",))
    [id_] = await stored(free, 1, redacted=mark, flags=("redacted", "blanked"))
    page = await page_of(free, f"/deliveries/{id_}")
    assert "<code>payload.&lt;b&gt;</code>" in page
    assert "ab" * 32 in page
    assert "its whole body, as the values could not be cut out of it" in page
    plan = await page_of(free, f"/plan?verb=replay&id={id_}")
    assert "matched and run without the values that were taken out" in plan


async def test_lists_go_on_page_by_page_and_lose_none(free: Rig) -> None:
    ids = await stored(free, 7)
    path, seen = "/deliveries?endpoint=shop&limit=3", []
    while path:
        page = await page_of(free, path)
        seen += re.findall(r'id="row-(dlv_\w+)"', page)
        more = re.search(r'rel="next" href="([^"]+)"', page)
        path = more[1].replace("&amp;", "&") + "&limit=3" if more else ""
    assert sorted(seen) == sorted([*ids, free.ids["delivery"]])
    assert len(seen) == len(set(seen))


async def test_what_was_asked_stays_in_the_form(free: Rig) -> None:
    page = nodes((await free.get("/deliveries?event=a%22b&since=2h&state=routed")).body)
    given = {g.get("name"): g.get("value") for tag, g in page.elements if tag == "input"}
    assert (given["event"], given["since"]) == ('a"b', "2h")
    chosen = [g for tag, g in page.elements if tag == "option" and "selected" in g]
    assert len(chosen) == 1


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("state=nonsense", "no state"),
        ("since=soon", "is not a time"),
        ("where=payload.", "character"),
        ("where=nothing.x", "there is no"),
        ("cursor=x", "cursor"),
        ("colour=red", "no parameter"),
    ],
)
async def test_a_wrong_question_is_reported_beside_its_form(
    free: Rig, query: str, said: str
) -> None:
    for path in ("/deliveries", "/jobs"):
        answer = await free.get(f"{path}?{query}")
        assert answer.status == 400
        assert b'class="filter"' in answer.body
        assert said in answer.body.decode()


async def test_a_token_without_bodies_sees_no_payload_anywhere(tmp_path: Path) -> None:
    async with a_rig(tmp_path) as rig:
        await rig.fill("shown", inside="hush-hush")
        for who, sees in (("viewer", True), ("hidden", False)):
            await rig.log_in(who)
            pages = [(await rig.get(path)).body.decode() for path in rig.paths()]
            assert any("hush-hush" in page for page in pages) is sees
            assert any("shown" in page for page in pages)
        assert (await rig.get("/deliveries?where=payload.id")).status == 403


async def test_a_large_body_is_shown_in_part_and_given_whole(free: Rig) -> None:
    body = b'{"a": "' + b"x" * 40_000 + b'"}'
    (one,) = await stored(free, 1, body=body)
    page = await page_of(free, f"/deliveries/{one}")
    assert len(page) < 48_000 + shown.BODY_SHOWN
    assert "show all of it" in page
    assert "x" * 40_000 in await page_of(free, f"/deliveries/{one}?body=all")
    whole = await free.get(f"/deliveries/{one}/body")
    assert whole.body == body
    assert whole.headers["content-disposition"] == f'attachment; filename="{one}.body"'
    assert whole.headers["content-type"] == "application/octet-stream"


async def test_a_huge_body_is_neither_shown_whole_nor_traced_unasked(free: Rig) -> None:
    body = b'{"id": 1, "a": "' + b"x" * shown.BODY_MAX + b'"}'
    (one,) = await stored(free, 1, body=body)
    for path in (f"/deliveries/{one}", f"/deliveries/{one}?body=all"):
        page = await page_of(free, path)
        assert len(page) < 60_000
        assert "takes a while" in page


async def test_a_replay_is_of_that_delivery_and_said_who_by(rig: Rig) -> None:
    await rig.log_in("operator")
    one = rig.ids["delivery"]
    answer = await rig.post(f"/deliveries/{one}/replay", on=f"/deliveries/{one}", name="mine")
    assert answer.headers["location"] == "/replays/mine"
    again = await rig.post(f"/deliveries/{one}/replay", on=f"/deliveries/{one}", name="mine")
    assert again.headers["location"] == "/replays/mine"
    replay = await rig.store.reads.replay("mine")
    assert replay is not None
    assert (replay.deliveries, replay.asked["ids"]) == (1, [one])
    lines = await rig.store.reads.audited(None, None, 10)
    assert [(a.who, a.peer) for a in lines if a.id == "mine"] == [("bob", "127.0.0.1")]


async def test_what_was_replayed_already_is_said_and_made_once_more_if_asked(rig: Rig) -> None:
    """Of a delivery, of a job, and of a plan."""
    await rig.log_in("operator")
    [two] = await rig.store.reads.jobs(Selector(rule="two"))
    for path in (f"/deliveries/{rig.ids['delivery']}", f"/jobs/{two.id}"):
        made = []
        for given in ({}, {}, {"again": "yes"}):
            answer = await rig.post(f"{path}/replay", on=path, **given)
            replay = await rig.store.reads.replay(
                answer.headers["location"].removeprefix("/replays/")
            )
            assert replay is not None
            made.append((replay.jobs > 0, replay.passed))
            page = await page_of(rig, answer.headers["location"])
            assert ("that were replayed already" in page) is (replay.passed > 0)
        assert made == [(True, 0), (False, 1), (True, 0)]
    replays = [one.id for one in await rig.store.reads.replays(9)]
    page = await page_of(rig, "/plan?rule=one")
    assert "new jobs</dt><dd>0<" in page
    assert any(f"/replays/{one}" in page for one in replays)
    assert "/plan?rule=one&amp;again=yes" in page
    page = await page_of(rig, "/plan?rule=one&again=yes")
    assert 'name="again" value="yes"' in page
    assert re.search("Make [12] new jobs", page)


@pytest.mark.parametrize(
    ("verb", "asked", "state"),
    [("revive", "rule=paid", "dead"), ("cancel", "rule=two", "available")],
)
async def test_what_is_revived_or_cancelled_is_planned_first(
    verb: str, asked: str, state: str, rig: Rig
) -> None:
    await rig.log_in("operator")
    await stored(rig, 1)
    for leased in (await rig.store.lease({"erp": 9}, lease="b.9", now=NOW + 10**9)).jobs:
        await rig.store.settle(a_settlement(leased.job, "dead"))
    count = len(await rig.store.reads.jobs(Selector(state=state, rule=asked.removeprefix("rule="))))
    page = await rig.get(f"/plan?verb={verb}&{asked}")
    reported = nodes(page.body)
    assert f"{verb.capitalize()} {count} jobs" in page.body.decode()
    assert [line.verb for line in await rig.store.reads.audited(None, None, 9)] == ["replay"]
    [form] = [
        g for tag, g in reported.elements if tag == "form" and "/plan/" in (g.get("action") or "")
    ]
    assert form["action"] == f"/plan/{verb}"
    fields = {
        g["name"] or "": g["value"] or ""
        for tag, g in reported.elements
        if tag == "input" and g.get("type") == "hidden"
    }
    assert (await rig.ask("POST", f"/plan/{verb}", form=fields)).status == 200
    [line, _] = await rig.store.reads.audited(None, None, 9)
    assert (line.verb, line.count) == (verb, count)


@pytest.mark.parametrize(("verb", "made"), [("replay", 2), ("revive", 1), ("cancel", 1)])
async def test_what_is_ticked_is_planned_and_nothing_else(rig: Rig, verb: str, made: int) -> None:
    await rig.log_in("operator")
    jobs = {job.rule: job for job in await rig.store.reads.jobs(Selector(state="available"))}
    for leased in (await rig.store.lease({"erp": 9}, lease="b.9", now=NOW + 10**9)).jobs:
        await rig.store.settle(a_settlement(leased.job, "dead"))
    ids = {
        "replay": [rig.ids["delivery"]], "revive": [rig.ids["job"]], "cancel": [jobs["two"].id],
    }[verb]  # fmt: skip
    await stored(rig, 2)
    page = await rig.get(f"/plan?verb={verb}&" + "&".join(f"id={one}" for one in ids * 2))
    assert re.search(f"(Make|Revive|Cancel) {made} (new )?jobs", page.body.decode())
    form = {
        g["name"] or "": g["value"] or ""
        for tag, g in nodes(page.body).elements
        if tag == "input" and g.get("type") == "hidden"
    }
    answer = await rig.ask("POST", f"/plan/{verb}", form=form)
    assert answer.status == (303 if verb == "replay" else 200)
    [line, *_] = await rig.store.reads.audited(None, None, 9)
    assert (line.verb, line.asked["ids"]) == (verb, ids * 2)


async def test_nothing_ticked_is_nothing_planned(rig: Rig) -> None:
    await rig.log_in("operator")
    answer = await rig.get("/plan?verb=revive")
    assert (answer.status, b"select some first" in answer.body) == (400, True)


async def test_ids_among_a_selection_stay_in_the_plans_form(rig: Rig) -> None:
    """Without them the form would do more than was planned."""
    await rig.log_in("operator")
    [job] = await rig.store.reads.jobs(Selector(state="available", rule="two"))
    page = (await rig.get(f"/plan?verb=cancel&rule=two&id={job.id}")).body.decode()
    assert f'name="id" value="{job.id}"' in page
    assert 'name="rule" value="two"' in page


async def test_events_are_named_with_their_actions_in_every_list(free: Rig) -> None:
    maker = Maker(seed=9)
    delivery = maker.delivery()
    event = maker.event(name="pull_request", action="opened")
    job = maker.job(event="pull_request", event_id=event.id)
    await free.store.accept(Acceptance(delivery, (event,), (job,)))
    for path in (
        "/deliveries", "/jobs", f"/jobs/{job.id}", f"/deliveries/{delivery.id}",
    ):  # fmt: skip
        assert "pull_request.opened" in await page_of(free, path), path


async def test_a_long_batch_stands_behind_its_jobs(free: Rig) -> None:
    maker = Maker(seed=9)
    delivery = maker.delivery()
    events = tuple(maker.event(n, name="open", action=f"a{n}") for n in range(60))
    job = maker.job(event="open", event_id=events[0].id)
    await free.store.accept(Acceptance(delivery, events, (job,)))
    page = await page_of(free, f"/deliveries/{delivery.id}")
    assert page.index(job.id) < page.index('id="events"') < page.index("open.a1 <")
    assert "and 40 more" in page


async def test_what_a_replay_has_made_again_is_not_planned_to_be_revived(rig: Rig) -> None:
    """The page says how many those are, and of which replay; there is nothing to press."""
    await rig.log_in("operator")
    page = await page_of(rig, "/plan?verb=revive&state=dead")
    assert "<dt>jobs</dt><dd>0<" in page
    replay = rig.ids["replay"]
    assert f'<dt>skipped</dt><dd>1 already replayed by <a href="/replays/{replay}">' in page
    assert 'action="/plan/revive"' not in page


async def test_a_dead_job_is_revived_and_cancelled_on_its_page(rig: Rig) -> None:
    await rig.log_in("operator")
    path = f"/jobs/{rig.ids['job']}"
    assert "Revive" in await page_of(rig, path)
    await rig.post(f"{path}/revive", on=path)
    job = await rig.store.reads.job(rig.ids["job"])
    assert job is not None
    assert job.state == "available"
    assert "Revive" not in await page_of(rig, path)
    await rig.post(f"{path}/cancel", on=path)
    job = await rig.store.reads.job(rig.ids["job"])
    assert job is not None
    assert job.state == "cancelled"
    assert (await rig.post(f"{path}/burn", on=path)).status == 404


async def test_a_plan_makes_nothing_and_its_form_makes_what_it_said(rig: Rig) -> None:
    await rig.log_in("operator")
    before = len(await rig.store.reads.jobs(Selector(limit=100)))
    page = await rig.get("/plan?state=available")
    reported = nodes(page.body)
    assert len(await rig.store.reads.jobs(Selector(limit=100))) == before
    form = {
        g["name"]: g["value"]
        for tag, g in reported.elements
        if tag == "input" and g.get("type") == "hidden"
    }
    assert form["state"] == "available"
    assert int(form["until"] or 0) >= NOW + 1000
    answer = await rig.ask("POST", "/plan/replay", form={k: v or "" for k, v in form.items() if k})
    assert answer.status == 303
    assert len(await rig.store.reads.jobs(Selector(limit=100))) == before + 1


@pytest.mark.parametrize("form", [{}, {"until": "1"}, {"since": "soon", "state": "dead"}])
async def test_nothing_is_replayed_that_was_not_chosen(rig: Rig, form: dict[str, str]) -> None:
    await rig.log_in("operator")
    for verb in ("replay", "revive", "cancel"):
        assert (await rig.post(f"/plan/{verb}", on="/reload", **form)).status == 400
    assert (await rig.get("/plan")).status == 400


async def test_a_viewer_is_shown_no_button_that_would_fail(rig: Rig) -> None:
    await rig.log_in("viewer")
    for path in rig.paths():
        if path.startswith("/plan") or path.endswith("/body"):
            continue
        page = nodes((await rig.get(path)).body)
        posts = [g["action"] for tag, g in page.elements if tag == "form" and g["method"] == "post"]
        assert set(posts) <= {"/logout"}, path


async def test_targets_are_paused_by_name(rig: Rig) -> None:
    await rig.log_in("operator")
    await rig.post("/targets/pause", on="/targets", target="https://h:1")
    await rig.post("/targets/resume", on="/targets", target="https://h:1")
    target = TargetRequest("https://h:1")
    assert rig.done == [("pause", target), ("resume", target)]
    assert (await rig.post("/targets/burn", on="/targets", target="x")).status == 404


async def test_ten_thousand_targets_are_a_page_with_those_in_trouble_first(free: Rig) -> None:
    free.rows = tuple(
        TargetRow(f"t{n}", named=False, kind="shell", state="failing" if n == 9_999 else "healthy")
        for n in range(10_000)
    )
    page = await page_of(free, "/targets")
    assert page.count("<tr>") == router_pages.ROWS_SHOWN + 1
    assert page.index(">t9999<") < page.index(">t0<")
    assert "9700 more are not shown" in page
    assert (await page_of(free, "/targets?find=t999")).count("<tr>") == 1 + 11


async def test_rules_are_found_by_part_of_their_name(free: Rig) -> None:
    assert 'id="rule-one"' in await page_of(free, "/rules?find=on")
    assert 'id="rule-one"' not in await page_of(free, "/rules?find=tw")


@pytest.mark.parametrize(
    ("body", "splits", "root"),
    [
        (b'[{"a": 1}]', False, "payload"),
        (b' [{"a": 1}]', True, "payload[]"),
        (b'{"value": []}', True, "body"),
    ],
)
def test_a_body_is_to_a_condition_what_its_sender_makes_of_it(
    body: bytes, splits: bool, root: str
) -> None:
    assert shown.root(a_delivery(body=body), splits=splits) == root


def test_bodies_are_shown_whatever_they_are() -> None:
    assert shown.shown_body(b'{"a":1.50}', whole=False).text == '{\n  "a": 1.50\n}'
    assert shown.shown_body(b"\xff\x00\x1b[2J", whole=False).text == "\\xff\\x00\\x1b[2J"
    assert shown.shown_body(b"", whole=False).text == ""


@pytest.mark.parametrize("bodies", [True, False])
@pytest.mark.long
def test_an_answer_is_cut_and_its_json_twin_left_out(bodies: bool) -> None:
    result = {"status": 200, "text": "x" * 300_000, "json": {"a": 1}, "headers": {}, "stderr": ""}
    attempts = [Attempt("j", n, 0, 5, "succeeded", None, result, "g") for n in range(1, 54)]
    page = Renderer(Assets()).page(
        "job.html", job=a_job(), attempts=attempts, bodies=bodies, output=JobOutput(running=False),
        standing=None, open=False, proof="", name="", may_change=False, event="order",
    ).decode()  # fmt: skip
    assert "3 earlier attempts" in page
    assert ("attempt 3 " in page, "attempt 4 " in page) == (False, True)
    assert page.count("5 ms") == 50
    names = set(re.findall(r'class="faint">(\w+):?</(?:summary|span)>', page))
    assert names == ({"status", "text"} if bodies else set())
    assert page.count("cut; the job") == (50 if bodies else 0)
    assert ("x" * 262_144 + "\u2026" in page, "x" * 262_145 in page) == (bodies, False)
