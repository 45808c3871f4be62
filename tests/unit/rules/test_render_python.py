"""A python action's call: all that a plugin's Event and Context are made of."""

from decimal import Decimal
from typing import Any

import pytest

from router.errors import RenderError
from router.expressions import compile_template
from router.kinds.python import PythonCall, PythonSpec
from router.plugin import Event
from router.rules.live import LiveRuleset, SecretValues
from router.rules.render import Material, render
from router.rules.specs import CompiledAction
from tests.builders import a_delivery, a_job, a_log, a_ruleset, an_event

T = compile_template
CANARY = "s3cr3t-canary-9f2e"
SECRETS = SecretValues({"erp": CANARY.encode(), "other": b"not-named"}, {})


def python(payload: Any = None, given: dict[str, Any] | None = None, **spec: Any) -> PythonCall:
    given = given or {}
    values = {"call": "desk:notify", "args": {}, "secrets": (), "cwd": "/srv", "timeout_s": 60.0}
    action = CompiledAction(
        id="desk",
        kind="python",
        spec=PythonSpec(**{**values, **spec}),
        target="r/desk",
        retry=a_log().retry,
    )
    material = Material(
        LiveRuleset(a_ruleset(), SECRETS),
        action,
        a_job(**given.get("job", {})),
        a_delivery(**given.get("delivery", {})),
        an_event(payload=payload, **given.get("event", {})),
        {"PATH": "/bin", "HOME": "/root", "TOKEN": "no"},
        tuple(given.get("covered", ())),
    )
    call = render(material)
    assert isinstance(call, PythonCall)
    return call


def test_arguments_keep_their_types() -> None:
    args = {"id": T("{{ payload.id }}"), "text": T("order {{ payload.id }}"), "n": 1, "l": [T("x")]}
    call = python({"id": Decimal("1.50")}, args=args)
    assert call.args == {"id": Decimal("1.50"), "text": "order 1.50", "n": 1, "l": ["x"]}


def test_an_argument_that_cannot_be_rendered_is_named() -> None:
    with pytest.raises(RenderError, match=r"python\.args\.text"):
        python({"l": []}, args={"text": T("a {{ payload.l }}")})


def test_what_the_event_says_is_what_a_plugin_reads() -> None:
    call = python({"id": 1}, {"job": {"attempt": 3, "replay_of": None}})
    fields = set(Event.__struct_fields__)
    assert set(call.event) == fields - {"body"}
    assert (call.event["attempt"], call.event["idempotency_key"]) == (3, a_job().id)
    assert call.event["received_at"].endswith("Z")


def test_the_exact_bytes_of_the_event_or_of_the_whole_batch() -> None:
    raw, whole = b'{"event":"open"}', b'[{"event":"open"}]'
    given: dict[str, Any] = {"event": {"raw": raw}, "delivery": {"body": whole}}
    assert python({}, given).body == raw
    assert python({}, {"delivery": {"body": whole}}).body == whole
    events = (an_event(payload={"n": 1}), an_event(payload={"n": 2}))
    call = python({"n": 1}, {**given, "covered": events})
    assert (call.body, call.event["events"]) == (whole, [{"n": 1}, {"n": 2}])


def test_only_the_named_secrets_go_and_none_is_shown() -> None:
    call = python({}, secrets=("erp",))
    assert call.secrets == {"erp": CANARY}
    assert CANARY not in f"{call!r} {call.described()}"


def test_the_environment_of_a_command() -> None:
    call = python({})
    names = {"PATH", "HOME", "WEBHOOK_JOB", "WEBHOOK_DELIVERY", "WEBHOOK_EVENT", "WEBHOOK_ATTEMPT"}
    assert set(call.env) == names
    assert call.cwd == "/srv"


def test_hosts_count_as_written_only_where_nothing_comes_from_the_event() -> None:
    args = {
        "a": T("http://127.0.0.1:9/x"),
        "b": [T("http://{{ payload.host }}/"), T("{{ payload.url }}")],
        "c": {"d": T("https://10.0.0.1/{{ payload.id }}")},
    }
    call = python({"host": "10.0.0.2", "url": "http://10.0.0.3/", "id": 1}, args=args)
    assert call.hosts == ("127.0.0.1",)
