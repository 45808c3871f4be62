"""Traces, signatures, files and shared actions: from a job to what its call carries."""

import re
from typing import Any

import msgspec
import pytest

from router.errors import RenderError
from router.expressions import compile_template
from router.kinds.http import HttpCall
from router.kinds.kind import ActionCall
from router.kinds.shell import ShellCall
from router.model.delivery import Delivery
from router.model.job import Job
from router.model.settings import ShellLimits, Sign, Tls
from router.model.trace import Traceparent
from router.rules.live import LiveRuleset, SecretValues
from router.rules.render import Material, render
from router.rules.specs import CompiledAction
from tests.builders import a_delivery, a_job, a_log, a_ruleset, a_shell, an_event, an_http

T = compile_template
KEY = b"\xff\x00 no text"
SECRETS = SecretValues({"new": KEY, "ck": b"-----BEGIN KEY-----"}, {})
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def rendered(
    action: CompiledAction, headers: Any = (), traced: Traceparent | None = None, **job: Any
) -> ActionCall:
    delivery = a_delivery(headers=(("content-type", "application/json"), *headers))
    environ = {"PATH": "/bin", "HOME": "/root"}
    event = an_event(payload={"id": 7, "name": "#1001"})
    live = LiveRuleset(a_ruleset(), SECRETS)
    given = Material(live, action, a_job(**job), delivery, event, environ, traced=traced)
    return render(given)


def http(*headers: tuple[str, str], **spec: Any) -> HttpCall:
    call = rendered(an_http(**spec), headers)
    assert isinstance(call, HttpCall)
    return call


def shell(**spec: Any) -> ShellCall:
    call = rendered(a_shell(**spec))
    assert isinstance(call, ShellCall)
    return call


def trace(call: ActionCall) -> str:
    assert isinstance(call, HttpCall)
    return dict(call.headers)["traceparent"]


def test_the_sender_s_trace_goes_on_in_a_span_of_each_attempt() -> None:
    sent = ("traceparent", f"00-{TRACE}-00f067aa0ba902b7-01")
    first, second = (trace(rendered(an_http(), (sent,), attempt=n)) for n in (1, 2))
    for given in (first, second):
        assert re.fullmatch(f"00-{TRACE}-[0-9a-f]{{16}}-01", given)
        assert "00f067aa0ba902b7" not in given
    assert first != second == trace(rendered(an_http(), (sent,), attempt=2))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00-x-y-01",
        f"00-{TRACE}-00f067aa0ba902b7",
        f"00-{TRACE.upper()}-00f067aa0ba902b7-01",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-00f067aa0ba902b7-01",
        f"00-{TRACE}-00f067aa0ba902b7-01, 00-{TRACE}-00f067aa0ba902b7-01",
        f"00-{TRACE}-00f067aa0ba902b7-01\n",
    ],
)
def test_a_trace_that_is_none_is_replaced_by_the_delivery_s_own(text: str) -> None:
    own = trace(http(("traceparent", text)))
    assert own == trace(http())
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-00", own)
    other = trace(rendered(an_http(), delivery="dlv_other"))
    assert other[:35] != own[:35]


def test_a_traceparent_that_the_rules_send_is_left_alone() -> None:
    assert trace(http(headers=(("Traceparent", T("mine")),))) == "mine"
    forwarded = http(("traceparent", "theirs"), forward_headers=("traceparent",))
    assert trace(forwarded) == "theirs"


def test_whoever_is_called_knows_the_span_that_the_router_makes() -> None:
    def traced(delivery: Delivery, job: Job) -> str:
        return f"{job.id} of {delivery.id}"

    given = trace(rendered(an_http(), traced=traced, id="job_7"))
    assert given == f"job_7 of {a_delivery().id}"
    call = rendered(a_shell(), traced=traced, id="job_7")
    assert isinstance(call, ShellCall)
    assert call.env["TRACEPARENT"] == given
    assert "TRACEPARENT" not in shell().env, "nobody records it"


def test_a_signature_s_keys_are_the_secrets_bytes_and_are_shown_nowhere() -> None:
    sign, tls = Sign(("new",), header="X-Sig"), Tls(cert="/c.pem", key_secret="ck")
    call = http(sign=sign, tls=tls)
    assert (call.sign, call.sign_keys) == (sign, (KEY,))
    assert (call.tls, call.tls_key) == (tls, "-----BEGIN KEY-----")
    for shown in (repr(call), repr(call.described())):
        assert "BEGIN" not in shown
        assert "no text" not in shown


def test_files_of_a_command() -> None:
    call = shell(
        files=(
            ("BODY", "body"),
            ("ORDER", {"id": T("{{ payload.id }}")}),
            ("NOTE", T("Order {{ payload.name }}")),
        ),
        limits=ShellLimits(files=64),
    )
    assert call.files == (("BODY", b'{"id": 1}'), ("ORDER", b'{"id":7}'), ("NOTE", b"Order #1001"))
    assert call.limits == ShellLimits(files=64)


def test_parameters_of_a_shared_action() -> None:
    action = msgspec.structs.replace(
        a_log("{{ with.text }} {{ with.many }}"),
        given=(("text", T("Order {{ payload.name }}")), ("many", [1, T("{{ payload.id }}")])),
    )
    assert rendered(action).message == "Order #1001 [1,7]"  # type: ignore[union-attr]


def test_a_parameter_that_cannot_be_rendered_names_itself() -> None:
    action = msgspec.structs.replace(
        a_log("{{ with.text }}"), given=(("text", T("Order {{ payload.none }}")),)
    )
    with pytest.raises(RenderError, match=r"with\.text"):
        rendered(action)
