"""From a reading to a plan: keys, jobs, states."""

import hashlib
import random
from typing import Any

import msgspec
import pytest

from router.expressions import compile as compiled
from router.model.ids import Ids
from router.model.job import Group, Predecessor
from router.model.settings import Api, Dedupe, Endpoint
from router.providers import Provider, builtin
from router.rules.live import LiveRuleset, SecretValues
from router.rules.plan import JOBS_MAX, Plan, Planner, body_identity, dedupe_key
from router.rules.ruleset import Ruleset
from router.rules.specs import CompiledAction, Concurrency
from tests.builders import NOW, a_delivery, a_log, a_request, a_rule, a_ruleset
from tests.unit.providers.makers import a_definition

MAIL = Endpoint("mail", "sendgrid", ("/wh_m",), ("m",))


def planned(
    ruleset: Ruleset, body: bytes = b'{"id": 7}', dedupe: Dedupe | None = None, **given: Any
) -> Plan:
    """The plan of one request to `endpoint` (shop)."""
    endpoint = given.pop("endpoint", "shop")
    provider = ruleset.endpoints[endpoint].provider
    headers = given.pop("headers", ((b"x-shopify-topic", b"orders/paid"),))
    reserve = given.pop("reserve", lambda target, kind: None)
    request = a_request(body=body, headers=headers)
    reading = ruleset.providers[provider].read(request)
    delivery = a_delivery(
        endpoint=endpoint, provider=provider, body=body, event_count=len(reading.events)
    )
    planner = Planner(LiveRuleset(ruleset, SecretValues({}, {})), Ids(random.Random(1)), reserve)
    place = ruleset.endpoints[endpoint]
    guard = given.pop("replay_guard", False)
    place = msgspec.structs.replace(place, dedupe=dedupe or Dedupe(), replay_guard=guard)
    return planner.plan(delivery, reading, place, NOW, NOW)


def mail_rules(*rules: Any) -> Ruleset:
    """A ruleset with an email endpoint."""
    return a_ruleset(*rules, endpoints={"mail": MAIL})


def test_each_action_of_each_matching_rule_is_a_job() -> None:
    """Event x rule x action."""
    two = a_rule("two", actions=(a_log(id_="x"), a_log(id_="y")))
    plan = planned(a_ruleset(a_rule("one"), two, a_rule("no", "payload.id == 8")))
    assert [(j.rule, j.action) for j in plan.jobs] == [("one", "log"), ("two", "x"), ("two", "y")]
    assert ("routed", {"available"}) == (plan.state, {j.state for j in plan.jobs})


def test_shadow_rules_make_no_jobs() -> None:
    """Only shadow rules matched: unmatched."""
    plan = planned(a_ruleset(a_rule("s", mode="shadow")))
    assert (plan.state, plan.jobs) == ("unmatched", ())
    assert [r.id for r in plan.matches[0].shadow] == ["s"]


def test_a_reserved_job_is_committed_running() -> None:
    """With its lease; the others are available."""
    leases = iter(["b/1", None])
    rule = a_rule("r", actions=(a_log(id_="x"), a_log(id_="y")))
    plan = planned(a_ruleset(rule), reserve=lambda target, kind: next(leases))
    assert [(j.state, j.lease) for j in plan.jobs] == [("running", "b/1"), ("available", None)]


def chained(id_: str, *after: str) -> CompiledAction:
    return msgspec.structs.replace(a_log(id_=id_), after=tuple(map(Predecessor, after)))


def test_jobs_of_a_chain_are_one_run_and_only_the_first_may_start() -> None:
    """The others are not even asked for a slot."""
    asked: list[str] = []
    rule = a_rule("r", actions=(chained("x"), chained("y", "x")))
    plan = planned(a_ruleset(rule), reserve=lambda target, kind: asked.append(target) or "b/1")
    first, second = plan.jobs
    assert (first.lease, second.lease, second.after) == ("b/1", None, (Predecessor("x"),))
    assert first.run == second.run == first.id
    assert asked == ["r/x"]


def test_jobs_by_themselves_have_no_run() -> None:
    """Nothing more is stored of them than before."""
    (job,) = planned(a_ruleset(a_rule("r"))).jobs
    assert (job.run, job.after, job.turn) == (None, (), None)


@pytest.mark.parametrize(
    ("group", "body", "value"),
    [
        ("payload.a", b'{"a": "x"}', "x"),
        ("payload.a", b'{"a": 1.50}', "1.50"),
        ("payload.a", b'{"a": [1]}', "[1]"),
        ("payload.a", b"{}", None),
        ("payload.a", b'{"a": null}', None),
        ("length(payload.a)", b'{"a": 1}', None),
    ],
)
def test_a_group_s_value_names_whom_a_run_takes_turns_with(
    group: str, body: bytes, value: str | None
) -> None:
    """Without a value it takes none, and that is counted; nothing is handed over in memory."""
    rule = a_rule("r", concurrency=Concurrency(compiled(group), Group(2)))
    plan = planned(a_ruleset(rule), body, reserve=lambda target, kind: "b/1")
    (job,) = plan.jobs
    if value is None:
        assert (job.turn, job.run, job.lease, plan.ungrouped) == (None, None, "b/1", ("r",))
        return
    assert job.turn is not None
    assert (job.turn.value, job.turn.group, job.lease) == (value, Group(2), None)
    assert job.turn.key.startswith("r\x1f")
    assert plan.ungrouped == ()


def test_a_text_and_a_number_are_two_groups() -> None:
    """And so are long values that begin alike."""
    keys = set()
    for value in ("1", '"1"', f'"{"x" * 300}"', f'"{"x" * 301}"'):
        rule = a_rule("r", concurrency=Concurrency(compiled("payload.a"), Group()))
        (job,) = planned(a_ruleset(rule), b'{"a": %b}' % value.encode()).jobs
        assert job.turn is not None
        assert len(job.turn.key) <= 255
        keys.add(job.turn.key)
    assert len(keys) == 4


def test_the_providers_id_is_the_key_under_the_endpoints_name() -> None:
    """Two endpoints never share a key."""
    headers = ((b"x-shopify-topic", b"orders/paid"), (b"x-shopify-webhook-id", b"w-1"))
    plan = planned(a_ruleset(), headers=headers)
    assert plan.events[0].keys == (b"shop\0w-1",)
    assert dedupe_key("a", b"bc") != dedupe_key("ab", b"c")


@pytest.mark.parametrize("body", [b'{"e": "made"}', b"not json"])
def test_who_numbers_nothing_is_known_by_event_and_body(body: bytes) -> None:
    """And nothing is flagged: no number was due."""
    acme = Provider(a_definition(id={"body": True}, event={"field": "e"}))
    endpoint = Endpoint("shop", "acme", ("/wh_x",), ("shop",))
    ruleset = a_ruleset(a_rule("r"), endpoints={"shop": endpoint}, providers={"acme": acme})
    one, other = planned(ruleset, body), planned(ruleset, body + b" ")
    name = "made" if body.startswith(b"{") else "unknown"
    assert (one.flags, one.events[0].keys) == ((), (b"shop\0" + body_identity(name, body),))
    assert one.events[0].keys != other.events[0].keys


def test_a_batch_has_a_key_an_event() -> None:
    """Each event is known or new by itself; one without an id goes by its own JSON."""
    body = b'[{"event":"open","sg_event_id":"a"},{"event":"click","sg_event_id":"b"},{"event":"x"}]'
    plan = planned(
        mail_rules(a_rule("o", sources=("mail",), events=("open",))), body, endpoint="mail"
    )
    assert [e.keys[0] for e in plan.events[:2]] == [b"mail\0a", b"mail\0b"]
    assert len(plan.events[2].keys[0]) - len(b"mail\0") == 32
    assert [(j.rule, j.event_index) for j in plan.jobs] == [("o", 0)]


def test_an_empty_batch_is_unmatched() -> None:
    """`[]` is accepted."""
    plan = planned(mail_rules(), b"[]", endpoint="mail")
    assert (plan.state, plan.events, plan.jobs) == ("unmatched", (), ())


def test_too_many_jobs_make_it_too_complex_and_reserve_nothing() -> None:
    """Twenty-one rules on a thousand events."""
    body = msgspec.json.encode([{"event": "open", "sg_event_id": str(i)} for i in range(1000)])
    asked: list[str] = []
    rules = [a_rule(f"r{i}", sources=("mail",)) for i in range(JOBS_MAX // 1000 + 1)]
    plan = planned(
        mail_rules(*rules), body, endpoint="mail", reserve=lambda target, kind: asked.append(target)
    )
    assert (plan.state, plan.jobs, asked) == ("too_complex", (), [])


def test_per_delivery_makes_one_run_of_a_batch() -> None:
    """It covers the events that match, in order; other rules run an event each."""
    body = b'[{"event":"open","sg_event_id":"a"},{"event":"click"},{"event":"open"}]'
    whole = a_rule("w", sources=("mail",), events=("open",), per_delivery=True)
    plan = planned(mail_rules(whole, a_rule("e", sources=("mail",))), body, endpoint="mail")
    assert [(j.rule, j.event_index, j.covers) for j in plan.jobs if j.rule == "w"] == [
        ("w", 0, (0, 2))
    ]
    assert [j.event_index for j in plan.jobs if j.rule == "e"] == [0, 1, 2]


def test_a_paused_rule_makes_waiting_jobs_and_reserves_nothing() -> None:
    """They run when the rule is live again."""
    plan = planned(a_ruleset(a_rule("p", mode="paused")), reserve=lambda target, kind: "b/1")
    assert [(j.state, j.lease) for j in plan.jobs] == [("waiting", None)]
    assert plan.state == "routed"


TOPIC = (b"x-shopify-topic", b"orders/paid")
WEBHOOK_ID = (b"x-shopify-webhook-id", b"w-1")


def test_a_key_is_hashed_only_when_it_is_too_long() -> None:
    """The endpoint and its zero byte count: 255 bytes are kept as they are."""
    assert dedupe_key("shop", b"x" * 250) == b"shop\0" + b"x" * 250
    assert dedupe_key("shop", b"x" * 251) == hashlib.sha256(b"shop\0" + b"x" * 251).digest()


def test_the_identity_of_a_body_is_of_its_event_too() -> None:
    assert body_identity("e", b"body") == hashlib.sha256(b"e\0body").digest()
    assert body_identity("e", b"b") != body_identity("eb", b"")


@pytest.mark.parametrize("key", ["payload.nope", "length(payload.id)", None])
def test_a_key_expression_without_a_value_makes_no_key(key: str | None) -> None:
    """And says so: absent, failing, or gone with a reload."""
    ruleset = a_ruleset(dedupe_keys={"shop": compiled(key)} if key else {})
    plan = planned(ruleset, dedupe=Dedupe(mode="key"), headers=(TOPIC, WEBHOOK_ID))
    assert (plan.events[0].keys, plan.flags) == ((), ("no_key",))


def test_the_key_of_an_expression_is_its_json() -> None:
    ruleset = a_ruleset(dedupe_keys={"shop": compiled("payload.id")})
    for body, key in ((b'{"id": 7}', b"7"), (b'{"id": "7"}', b'"7"'), (b'{"id": [1]}', b"[1]")):
        plan = planned(ruleset, body, Dedupe(mode="key"), headers=(TOPIC, WEBHOOK_ID))
        assert (plan.events[0].keys, plan.flags) == ((b"shop\0" + key,), ())


def test_a_flag_is_raised_once_for_a_batch() -> None:
    body = b'[{"event":"open"},{"event":"click"},{"event":"open","sg_event_id":"a"}]'
    plan = planned(mail_rules(), body, endpoint="mail")
    assert plan.flags.count("no_id") == 1
    assert [len(e.keys) for e in plan.events] == [1, 1, 1]


def test_without_an_id_the_body_is_the_identity_and_that_is_said() -> None:
    body = b'{"id": 7}'
    plan = planned(a_ruleset(), body)
    assert plan.events[0].keys == (b"shop\0" + body_identity("orders/paid", body),)
    assert plan.flags == ("no_id",)
    named = planned(a_ruleset(), body, dedupe=Dedupe(mode="body"), headers=(TOPIC, WEBHOOK_ID))
    assert (named.events[0].keys, named.flags) == (plan.events[0].keys, ())


def test_a_replay_guard_s_key_is_marked_as_one() -> None:
    """It can never be the same as the key of an id, or of a body; a fresh id does not change it."""
    body = b'{"id": 7}'
    plan = planned(a_ruleset(), body, Dedupe(mode="off"), replay_guard=True)
    guard = b"shop\0body\0" + body_identity("orders/paid", body)
    assert plan.events[0].keys == (guard,)
    both = planned(a_ruleset(), body, Dedupe(mode="body"), replay_guard=True)
    assert both.events[0].keys == (b"shop\0" + body_identity("orders/paid", body), guard)
    numbered = planned(a_ruleset(), body, headers=(TOPIC, WEBHOOK_ID), replay_guard=True)
    assert numbered.events[0].keys == (b"shop\0w-1", guard)


@pytest.mark.parametrize(
    ("mode", "headers", "key", "flags"),
    [
        ("id", (TOPIC, WEBHOOK_ID), b"w-1", ()),
        ("id", (TOPIC,), None, ("no_id",)),
        ("body", (TOPIC, WEBHOOK_ID), None, ("no_id",)),
        ("body", (TOPIC,), None, ("no_id",)),
        ("key", (TOPIC, WEBHOOK_ID), b"", ()),
        ("off", (TOPIC, WEBHOOK_ID), b"", ()),
        ("off", (TOPIC,), b"", ("no_id",)),
    ],
)
def test_the_key_of_what_could_not_be_read(
    mode: Any, headers: Any, key: bytes | None, flags: tuple[str, ...]
) -> None:
    """By its id, else by event and body; none where a value of the payload would be the key."""
    body = b"not json"
    plan = planned(a_ruleset(), body, Dedupe(mode=mode), headers=headers)
    identity = body_identity("orders/paid", body) if key is None else key
    assert plan.events[0].keys == ((b"shop\0" + identity,) if identity else ())
    assert plan.flags == flags
    assert (plan.state, plan.events[0].index, plan.events[0].name) == ("unparsed", 0, "orders/paid")
    assert plan.reason


def test_as_many_jobs_as_are_allowed_are_made() -> None:
    body = msgspec.json.encode([{"event": "open", "sg_event_id": str(i)} for i in range(1000)])
    rules = [a_rule(f"r{i}", sources=("mail",)) for i in range(JOBS_MAX // 1000)]
    plan = planned(mail_rules(*rules), body, endpoint="mail")
    assert (plan.state, len(plan.jobs)) == ("routed", 20_000)
    more = planned(mail_rules(*rules, a_rule("one", sources=("mail",))), body, endpoint="mail")
    assert (more.state, more.reason) == ("too_complex", "more than 20000 jobs")
    assert len(more.events) == 1


def test_jobs_of_a_paused_rule_wait_and_ask_for_no_slot() -> None:
    asked: list[str] = []
    rule = a_rule("p", mode="paused")
    plan = planned(a_ruleset(rule), reserve=lambda target, kind: asked.append(target) or "b/1")
    assert [(j.state, j.lease, j.due_at) for j in plan.jobs] == [("waiting", None, NOW)]
    assert asked == []


@pytest.mark.parametrize("size", [200, 201])
def test_a_group_s_value_is_shown_up_to_200_characters(size: int) -> None:
    """What it is told apart by is all of it."""
    group = Concurrency(compiled("payload.id"), Group())
    rule = msgspec.structs.replace(a_rule("r"), concurrency=group)
    plan = planned(a_ruleset(rule), msgspec.json.encode({"id": "x" * size}))
    turn = plan.jobs[0].turn
    assert turn is not None
    assert turn.value == "x" * 200
    assert (turn.key == "r\x1f" + '"' + "x" * 200 + '"') is (size == 200)


@pytest.mark.parametrize(("mode", "keys"), [("id", 0), ("key", 0), ("body", 1)])
def test_a_sender_without_ids_has_no_key_but_its_body(mode: Any, keys: int) -> None:
    """And nothing is said of an id that nobody could have sent."""
    place = Endpoint("bare", "token", ("/wh_b",), ("b",))
    ruleset = a_ruleset(endpoints={"bare": place}, providers={"token": builtin()["token"]})
    for body in (b'{"id": 7}', b"not json"):
        plan = planned(ruleset, body, Dedupe(mode=mode), endpoint="bare", headers=())
        assert len(plan.events[0].keys) == keys
        assert "no_id" not in plan.flags


@pytest.mark.parametrize(
    ("endpoint", "sender", "name"),
    [
        ("hub", "code-host", "github"),
        ("gone", "code-host", "code-host"),
        ("hub", "gitlab", "gitlab"),
    ],
)
def test_provider_is_called_as_its_endpoint_calls_it_today(
    endpoint: str, sender: str, name: str
) -> None:
    hub = Endpoint("hub", "code-host", ("/wh_h",), api=Api(spelling="github"))
    ruleset = a_ruleset(a_rule(match="provider == 'x'"), endpoints={"hub": hub})
    assert ruleset.roots(a_delivery(endpoint=endpoint, provider=sender))["provider"] == name
