"""Calls of jobs from the backlog: the stored body is parsed only where it is read."""

import json
from pathlib import Path

import msgspec
import pytest

from router.config import load
from router.dispatch.rules_port import REREAD_BYTES, renderer, rereader
from router.errors import RenderError
from router.kinds.http import HttpCall
from router.kinds.log import LogCall
from router.model.delivery import DeliveryEvent
from router.model.job import Work
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.rules.scope import event_scope
from tests.sim.makers import a_delivery, a_job

RULES = """\
version: 1
endpoints:
  code: {id: 97aa97aa97aa97aa97aa97aa97aa97aa, provider: code-host, secrets: hub}
  mail: {id: 2b7d2b7d2b7d2b7d2b7d2b7d2b7d2b7d, provider: email, secrets: hub}
secrets: {hub: {env: HUB}}
rules:
  - {id: forward, from: code, actions: {http: {url: "https://erp.example.net/{{ event }}"}}}
  - id: reads
    from: code
    actions: {http: {url: https://erp.example.net, json: {ref: "{{ payload.ref }}"}}}
  - {id: whole, from: code, actions: {log: "{{ to_string(not_null($).payload.ref) }}"}}
  - {id: told, from: code, actions: {python: {call: "desk:notify", args: {text: x}}}}
  - {id: mails, from: mail, actions: {http: https://erp.example.net}}
"""
ROOT = Path(__file__).parents[3]
"""Has the plugin that the rules name."""
BROKEN = b'{"ref": '


def render_job(rule: str, kind: str, body: bytes, **headers: str) -> HttpCall:
    """The call of a job of `rule` that comes from the backlog, its delivery's body `body`."""
    loaded = load(RULES, path=str(ROOT / "rules.yaml"), env={})
    assert loaded.ruleset is not None, loaded.diagnostics
    render = renderer(LiveRef(LiveRuleset(loaded.ruleset, SecretValues({"hub": b"k"}, {}))), {})
    provider = "email" if rule == "mails" else "code-host"
    sent = {"content-type": "application/json", "x-github-event": "push", **headers}
    delivery = a_delivery(provider=provider, body=body, headers=tuple(sent.items()))
    job = a_job(rule=rule, action=kind, kind=kind, event="push", event_id="evt_1")
    call = render(Work(job, delivery, None), {})
    assert isinstance(call, HttpCall)
    return call


def test_a_forwarded_body_goes_out_as_it_is_stored_and_is_never_parsed() -> None:
    call = render_job("forward", "http", BROKEN)
    assert (call.url, call.body) == ("https://erp.example.net/push", BROKEN)


@pytest.mark.parametrize(
    ("rule", "kind"), [("reads", "http"), ("told", "python"), ("whole", "log")]
)
def test_an_action_that_reads_the_payload_gets_it_parsed(rule: str, kind: str) -> None:
    with pytest.raises(RenderError, match="has no event 0"):
        render_job(rule, kind, BROKEN)


def test_the_payload_of_a_stored_delivery_is_rendered() -> None:
    call = render_job("reads", "http", b'{"ref": "main"}')
    assert msgspec.json.decode(call.body) == {"ref": "main"}


def test_an_event_of_a_batch_is_cut_out_of_it() -> None:
    call = render_job("mails", "http", b'[{"event":"bounce"}, {"event":"open"}]')
    assert call.body == b'{"event":"bounce"}'


def test_a_form_is_sent_on_as_the_json_in_it() -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    call = render_job("forward", "http", b"payload=%7B%22ref%22%3A1%7D", **form)
    assert call.body == b'{"ref":1}'


@pytest.mark.parametrize(("size", "kept"), [(10, True), (REREAD_BYTES, False)])
def test_few_large_deliveries_are_remembered(size: int, kept: bool) -> None:
    """The newest always, so that a batch of a thousand events is read once."""
    loaded = load(RULES, path=str(ROOT / "rules.yaml"), env={})
    assert loaded.ruleset is not None
    reread = rereader(LiveRef(LiveRuleset(loaded.ruleset, SecretValues({"hub": b"k"}, {}))))
    body = b'{"ref": "%s"}' % (b"x" * size)
    one, two = (a_delivery(f"dlv_{n}", provider="code-host", body=body) for n in (1, 2))
    first = reread(one, 0, None)
    assert reread(one, 0, None) is first
    newest = reread(two, 0, None)
    assert reread(two, 0, None) is newest
    assert (reread(one, 0, None) is first) is kept


SCOPED = """\
version: 1
endpoints:
  code: {id: 97aa97aa97aa97aa97aa97aa97aa97aa, provider: code-host, secrets: hub}
secrets: {hub: {env: HUB}}
vars: {place: here}
define: {branch: "payload.ref"}
rules:
  - id: all
    from: code
    actions:
      - id: one
        log: "{{ def.branch }} {{ var.place }} {{ delivery.id }} {{ event }}"
      - id: two
        http:
          url: "https://erp.example.net/{{ payload.ref }}"
          headers: {"x-key": "{{ secret.hub }}", "x-fixed": "a"}
          query: {of: "{{ delivery.id }}"}
      - id: three
        http: {url: "https://erp.example.net/x", headers: {"x-key": "{{ secret.hub }}"}}
"""


def _live(text: str) -> LiveRuleset:
    loaded = load(text, path=str(ROOT / "rules.yaml"), env={})
    assert loaded.ruleset is not None, loaded.diagnostics
    return LiveRuleset(loaded.ruleset, SecretValues({"hub": b"k"}, {}))


def _works(live: LiveRuleset, body: bytes, *, planned: bool) -> list[Work]:
    sent = {"content-type": "application/json", "x-github-event": "push"}
    delivery = a_delivery(provider="code-host", body=body, headers=tuple(sent.items()))
    event = DeliveryEvent("evt_1", 0, "push", None, json.loads(body))
    ruleset = live.ruleset
    scope = event_scope(ruleset.roots(delivery), delivery, event, ruleset.defines)
    jobs = [
        a_job(rule="all", action=action, kind=kind, event="push", event_id="evt_1")
        for action, kind in (("one", "log"), ("two", "http"), ("three", "http"))
    ]
    return [
        Work(
            msgspec.structs.replace(job, generation=ruleset.generation),
            delivery,
            event,
            scope if planned else None,
        )
        for job in jobs
    ]


def test_what_was_just_routed_is_rendered_as_what_comes_from_the_backlog() -> None:
    live = _live(SCOPED)
    render = renderer(LiveRef(live), {})
    for ref in ("main", "next"):  # of the second one everything but the event was known before
        body = json.dumps({"ref": ref}).encode()
        routed = [render(work, {}) for work in _works(live, body, planned=True)]
        stored = [render(work, {}) for work in _works(live, body, planned=False)]
        assert routed == stored
        line, called, fixed = routed
        assert line == LogCall(f"{ref} here dlv_1 push")
        assert isinstance(called, HttpCall)
        assert isinstance(fixed, HttpCall)
        assert called.url == f"https://erp.example.net/{ref}?of=dlv_1"
        assert dict(called.headers)["x-key"] == dict(fixed.headers)["x-key"] == "k"


def test_a_scope_of_rules_that_were_reloaded_is_not_used() -> None:
    old, new = _live(SCOPED), _live(SCOPED.replace("place: here", "place: there"))
    first, *_ = _works(old, b'{"ref": "main"}', planned=True)
    assert renderer(LiveRef(new), {})(first, {}) == LogCall("main there dlv_1 push")
