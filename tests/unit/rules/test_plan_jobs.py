"""A plan's jobs and events, whole: every field that the ledger will hold."""

from typing import Any

import msgspec
import pytest

from router.expressions import compile as compiled
from router.model.delivery import DeliveryEvent
from router.model.job import Group, NewJob, Predecessor, Turn
from router.model.settings import Dedupe
from router.rules.plan import body_identity
from router.rules.specs import CompiledAction, Concurrency
from tests.builders import NOW, a_log, a_rule, a_ruleset
from tests.unit.rules.test_plan import TOPIC, WEBHOOK_ID, mail_rules, planned

BATCH = b'[{"event":"open","sg_event_id":"a"},{"event":"click"},{"event":"open"}]'


def a_job_of(plan: Any, place: int = 0) -> dict[str, Any]:
    """A job's fields but its id."""
    job = msgspec.structs.asdict(plan.jobs[place])
    assert job.pop("id").startswith("job_")
    return job


def after(id_: str, *needs: str) -> CompiledAction:
    return msgspec.structs.replace(a_log(id_=id_), after=tuple(map(Predecessor, needs)))


def test_a_job_says_what_it_is_of() -> None:
    plan = planned(a_ruleset(a_rule("r")), headers=(TOPIC, WEBHOOK_ID))
    (event,) = plan.events
    wanted = NewJob(
        "", 0, event.id, "orders/paid", "r", "log", "log", "r/log", NOW, "available", None
    )
    expected = msgspec.structs.asdict(wanted)
    expected.pop("id")
    assert a_job_of(plan) == expected


def test_jobs_of_a_batch_say_which_event_they_are_of() -> None:
    plan = planned(mail_rules(a_rule("e", sources=("mail",))), BATCH, endpoint="mail")
    assert [(j.event_index, j.event_id, j.event) for j in plan.jobs] == [
        (e.index, e.id, e.name) for e in plan.events
    ]
    assert [j.covers for j in plan.jobs] == [()] * 3, "each is of one event"
    assert len({job.id for job in plan.jobs} | {event.id for event in plan.events}) == 6


def test_a_run_of_a_batch_is_of_the_first_event_that_it_wants() -> None:
    """Also where it wants one alone: it covers that one."""
    rules = (
        a_rule("w", sources=("mail",), events=("click",), per_delivery=True),
        a_rule("v", sources=("mail",), per_delivery=True),
    )
    plan = planned(mail_rules(*rules), BATCH, endpoint="mail")
    found = {j.rule: (j.event_index, j.event, j.event_id, j.covers) for j in plan.jobs}
    assert found == {
        "w": (1, "click", plan.events[1].id, (1,)),
        "v": (0, "open", plan.events[0].id, (0, 1, 2)),
    }


def test_an_event_is_named_as_it_was_read() -> None:
    """With what its sender adds, its own bytes where it is one of a batch, and its keys."""
    plan = planned(mail_rules(), BATCH, endpoint="mail")
    first = plan.events[0]
    raw = b'{"event":"open","sg_event_id":"a"}'
    assert first == DeliveryEvent(
        first.id, 0, "open", None, msgspec.json.decode(raw), raw, first.fields, (b"mail\0a",)
    )
    hook = ((b"x-github-event", b"issues"), (b"x-github-delivery", b"d-1"))
    hub = planned(
        a_ruleset(endpoints={"hub": _endpoint("hub", "github")}),
        b'{"action": "opened", "repository": {"full_name": "a/b"}}',
        endpoint="hub",
        headers=hook,
    )
    (event,) = hub.events
    assert (event.name, event.action, event.raw) == ("issues", "opened", None)
    assert (event.fields, event.keys) == ({"repository": "a/b"}, (b"hub\0d-1",))


def _endpoint(name: str, provider: str) -> Any:
    place = a_ruleset().endpoints["shop"]
    return msgspec.structs.replace(place, name=name, provider=provider)


def test_an_event_without_keys_is_as_it_was_read() -> None:
    plan = planned(a_ruleset(), dedupe=Dedupe(mode="off"), headers=(TOPIC, WEBHOOK_ID))
    (event,) = plan.events
    assert (event.name, event.payload, event.keys) == ("orders/paid", {"id": 7}, ())
    assert plan.flags == ()


def test_each_event_of_a_batch_is_keyed_by_its_own_json() -> None:
    """By `body` and with the guard, too: two events that are alike are one."""
    body = b'[{"event":"open","n":1},{"event":"open","n":1},{"event":"open","n":2}]'
    for given in (
        {"dedupe": Dedupe(mode="body")},
        {"dedupe": Dedupe(mode="off"), "replay_guard": True},
    ):
        plan = planned(mail_rules(), body, endpoint="mail", **given)
        keys = [event.keys for event in plan.events]
        assert [len(each) for each in keys] == [1, 1, 1]
        assert keys[0] == keys[1] != keys[2]
        assert keys[2][0].endswith(body_identity("open", b'{"event":"open","n":2}'))


def test_rules_that_are_live_come_before_those_that_are_paused() -> None:
    plan = planned(a_ruleset(a_rule("p", mode="paused"), a_rule("l")))
    assert [(job.rule, job.state) for job in plan.jobs] == [("l", "available"), ("p", "waiting")]
    assert [[rule.id for rule in found.paused] for found in plan.matches] == [["p"]]


def test_every_event_has_its_matches() -> None:
    rules = mail_rules(a_rule("o", sources=("mail",), events=("open",)))
    plan = planned(rules, BATCH, endpoint="mail")
    live = [[rule.id for rule in found.live] for found in plan.matches]
    assert live == [["o"], [], ["o"]]


def test_a_chain_of_a_paused_rule_is_one_run_that_waits() -> None:
    rule = a_rule("r", mode="paused", actions=(after("x"), after("y", "x")))
    plan = planned(a_ruleset(rule), reserve=lambda target, kind: "b/1")
    assert [(j.state, j.lease, j.run) for j in plan.jobs] == [
        ("waiting", None, plan.jobs[0].id),
        ("waiting", None, plan.jobs[0].id),
    ]


def test_two_rules_with_chains_are_two_runs_and_a_third_by_itself_is_none() -> None:
    actions = (after("x"), after("y", "x"))
    plan = planned(
        a_ruleset(a_rule("a", actions=actions), a_rule("b"), a_rule("c", actions=actions))
    )
    ids = [job.id for job in plan.jobs]
    assert [job.run for job in plan.jobs] == [ids[0], ids[0], None, ids[3], ids[3]]


def test_jobs_with_a_turn_are_one_run_and_ask_for_no_slot() -> None:
    asked: list[str] = []
    rule = a_rule(
        "r",
        actions=(a_log(id_="x"), a_log(id_="y")),
        concurrency=Concurrency(compiled("payload.id"), Group(2)),
    )
    plan = planned(a_ruleset(rule), reserve=lambda target, kind: asked.append(target) or "b/1")
    first, second = plan.jobs
    assert asked == []
    assert first.turn == second.turn == Turn("r\x1f7", "7", Group(2))
    assert first.run == second.run == first.id
    assert {job.state for job in plan.jobs} == {"available"}


def test_a_run_of_a_batch_takes_its_turn_by_its_first_event_and_is_counted_once() -> None:
    def plan_by(value: str) -> Any:
        rule = a_rule(
            *("w",),
            sources=("mail",),
            per_delivery=True,
            concurrency=Concurrency(compiled(value), Group()),
        )
        return planned(mail_rules(rule), BATCH, endpoint="mail")

    named = plan_by("payload.event")
    assert [(j.covers, j.turn and j.turn.value) for j in named.jobs] == [((0, 1, 2), "open")]
    assert named.ungrouped == ()
    assert plan_by("payload.gone").ungrouped == ("w",)


def test_each_run_without_a_value_is_counted() -> None:
    group = Concurrency(compiled("payload.sg_event_id"), Group())
    rules = mail_rules(a_rule("e", sources=("mail",), concurrency=group))
    assert planned(rules, BATCH, endpoint="mail").ungrouped == ("e", "e")


@pytest.mark.parametrize(("size", "whole"), [(251, True), (252, False)])
def test_a_turn_s_key_is_hashed_only_when_it_is_too_long(size: int, whole: bool) -> None:
    """Rule, mark and the value's JSON: 255 are kept as they are."""
    rule = a_rule("r", concurrency=Concurrency(compiled("payload.id"), Group()))
    (job,) = planned(a_ruleset(rule), msgspec.json.encode({"id": "x" * size})).jobs
    assert job.turn is not None
    assert (job.turn.key == 'r\x1f"' + "x" * size + '"') is whole
    assert len(job.turn.key) == (255 if whole else 2 + 64)


def test_what_was_not_routed_has_no_matches_and_keeps_what_was_said_of_it() -> None:
    plan = planned(a_ruleset(a_rule("r")), b"not json", headers=(TOPIC, WEBHOOK_ID))
    assert (plan.jobs, plan.matches, plan.ungrouped, plan.flags) == ((), (), (), ())
    assert (plan.events[0].payload, plan.events[0].action) == (None, None)
    assert plan.reason


def test_what_was_routed_needs_no_reason() -> None:
    assert planned(a_ruleset(a_rule("r"))).reason is None
    assert planned(a_ruleset()).reason is None


def test_expressions_see_the_file_s_own_names() -> None:
    rule = a_rule("r", "def.big && var.limit == `5`")
    ruleset = a_ruleset(rule, defines={"big": "payload.id > 5"}, variables={"limit": 5})
    for body, jobs in ((b'{"id": 7}', 1), (b'{"id": 5}', 0)):
        assert len(planned(ruleset, body).jobs) == jobs


def test_many_actions_count_as_many_jobs() -> None:
    """Of a run for a whole batch they count once, however many events it covers."""
    body = msgspec.json.encode([{"event": "open", "sg_event_id": str(i)} for i in range(1000)])
    actions = tuple(a_log(id_=f"a{number}") for number in range(20))
    full = [a_rule("r", sources=("mail",), actions=actions)]
    assert planned(mail_rules(*full), body, endpoint="mail").state == "routed"
    once = a_rule("w", sources=("mail",), per_delivery=True)
    plan = planned(mail_rules(*full, once), body, endpoint="mail")
    assert (plan.state, plan.reason) == ("too_complex", "more than 20000 jobs")
    alone = planned(mail_rules(once), body, endpoint="mail")
    assert [len(job.covers) for job in alone.jobs] == [1000]
