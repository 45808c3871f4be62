"""From a job to its call: encodings, defaults, hazards."""

from typing import Any

import msgspec
import pytest

from router.errors import RenderError
from router.expressions import compile as compiled
from router.expressions import compile_template
from router.kinds.http import HttpCall
from router.kinds.kind import ActionCall
from router.kinds.log import LogCall
from router.kinds.shell import ShellCall
from router.model.delivery import Redaction
from router.model.job import Predecessor, Skip
from router.model.settings import Auth, Target
from router.rules.live import LiveRuleset, SecretValues
from router.rules.render import Material, render
from router.rules.scope import event_scope
from router.rules.specs import CompiledAction
from tests.builders import NOW, a_delivery, a_job, a_log, a_ruleset, a_shell, an_event, an_http

T = compile_template
SECRETS = SecretValues({"erp": b"s3cret-value", "url": b"https://chat.example.net/T0/B0?k=v"}, {})


def rendered(action: CompiledAction, payload: Any = None, **given: Any) -> ActionCall | Skip:
    """The call of one attempt for an event with this payload."""
    event = an_event(payload={"id": 1} if payload is None else payload, **given.pop("event", {}))
    job = a_job(**given.pop("job", {}))
    delivery = a_delivery(**given.pop("delivery", {}))
    live = LiveRuleset(a_ruleset(**given), SECRETS)
    environ = {"PATH": "/bin", "HOME": "/root", "TOKEN": "no", "LANG": "C"}
    return render(Material(live, action, job, delivery, event, environ))


def http(payload: Any = None, given: dict[str, Any] | None = None, **spec: Any) -> HttpCall:
    """A rendered http action."""
    call = rendered(an_http(**spec), payload, **(given or {}))
    assert isinstance(call, HttpCall)
    return call


def shell(payload: Any = None, **spec: Any) -> ShellCall:
    """A rendered shell action."""
    call = rendered(a_shell(**spec), payload)
    assert isinstance(call, ShellCall)
    return call


def test_without_a_body_the_exact_bytes_go() -> None:
    """With the sender's content type, and the headers that are always sent."""
    body = b'{"id":  1}'
    delivery = {"body": body, "headers": (("content-type", "application/json; charset=utf-8"),)}
    call = http(given={"delivery": delivery, "job": {"attempt": 3}})
    headers = dict(call.headers)
    assert (body, "application/json; charset=utf-8") == (call.body, headers["content-type"])
    assert a_job().id == headers["idempotency-key"]
    assert (headers["router-event"], headers["router-attempt"]) == ("orders/paid", "3")
    assert "router-replay-of" not in headers


def after_erp(text: str, when: str | None = None) -> CompiledAction:
    """A log action that comes after `erp`."""
    condition = None if when is None else compiled(when)
    return msgspec.structs.replace(a_log(text), after=(Predecessor("erp"),), when=condition)


def of_results(action: CompiledAction, results: dict[str, Any]) -> ActionCall | Skip:
    live = LiveRuleset(a_ruleset(), SECRETS)
    event = an_event(payload={"id": 1})
    return render(Material(live, action, a_job(), a_delivery(), event, {}, (), results))


READS_THE_TIME = (
    an_http(headers=(("X-At", T("{{ now() }}")),)),
    an_http(url=T("http://127.0.0.1/in/{{ now() }}")),
    an_http(query=(("at", T("{{ now() }}")),)),
    an_http(body_kind="json", body={"at": T("{{ now() }}")}),
    a_log("at {{ now() }}"),
    a_log("{{ age('2026-01-01T00:00:00Z') }} s"),
    a_shell(argv=(T("x"), T("{{ now() }}"))),
    a_shell(env=(("AT", T("{{ now() }}")),)),
    a_shell(stdin={"at": T("{{ now() }}")}),
)
READS_THE_SCOPE = (
    an_http(headers=(("X-Id", T("{{ not_null($).delivery.received_at }}")),)),
    a_log("{{ {all: @}.all.delivery.received_at }}"),
    a_log("{{ to_string(*.received_at) }}"),
)


@pytest.mark.parametrize("action", [*READS_THE_TIME, *READS_THE_SCOPE])
def test_what_is_read_without_a_name_is_read_anew_for_each_delivery(action: CompiledAction) -> None:
    """The time by now() and age(), and the scope itself: nothing made once may hold them."""
    live = LiveRuleset(a_ruleset(), SECRETS)
    calls = []
    for number in (1, 2):
        delivery = a_delivery(received_at=NOW + number * 1_000)
        calls.append(render(Material(live, action, a_job(), delivery, an_event(), {})))
    assert calls[0] != calls[1]


def test_now_is_when_the_delivery_was_received() -> None:
    """In what reads nothing else."""
    call = rendered(a_log("{{ now() }}"), delivery={"received_at": 1_767_225_600_000})
    assert call == LogCall("2026-01-01T00:00:00.000Z")


def test_results_are_read_by_templates() -> None:
    """One that is not there is null."""
    action = after_erp("{{ results.erp.json.id }} {{ results.crm.status }}")
    assert of_results(action, {"erp": {"json": {"id": 5}}}) == LogCall("5 null")


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("results.erp.status == 201", LogCall("x")),
        ("payload.id == 1 && results.erp.status == 201", LogCall("x")),
        ("results.erp.status == 200", Skip("when")),
        ("payload.id", LogCall("x")),
    ],
)
def test_when_decides_whether_there_is_a_call(when: str, expected: ActionCall | Skip) -> None:
    """Before anything else is rendered."""
    assert of_results(after_erp("x", when), {"erp": {"status": 201}}) == expected


def test_a_when_that_fails_is_distinguished() -> None:
    """What never came cannot be compared."""
    skip = of_results(after_erp("x", "results.erp.status == 201"), {})
    assert isinstance(skip, Skip)
    assert skip.reason.startswith("when_error: ")


def test_of_a_batch_the_events_own_bytes_go() -> None:
    """Not the whole batch."""
    call = http(given={"event": {"raw": b'{"event":"open"}'}})
    assert call.body == b'{"event":"open"}'


def test_a_replayed_job_says_of_what() -> None:
    """So that a target can tell a replay from a retry."""
    call = http(given={"job": {"replay_of": "job_X"}})
    assert dict(call.headers)["router-replay-of"] == "job_X"


def test_what_lacks_redacted_values_says_so() -> None:
    """So that a target, and a command, can tell it from what came."""
    mark = Redaction(NOW, "ab" * 32, ("payload.email",))
    call = http(given={"delivery": {"redacted": mark}})
    assert dict(call.headers)["router-redacted"] == "true"
    assert "router-redacted" not in dict(http().headers)
    command = rendered(a_shell(), delivery={"redacted": mark})
    assert isinstance(command, ShellCall)
    assert command.env["WEBHOOK_REDACTED"] == "1"


def test_json_keeps_types_and_digits() -> None:
    """A whole template keeps its JSON type, null included."""
    spec = {
        "n": T("{{ payload.id }}"),
        "t": T("no {{ payload.id }}"),
        "z": [T("{{ payload.nil }}")],
    }
    call = http({"id": 12345678901234567890, "nil": None}, body_kind="json", body=spec)
    assert call.body == b'{"n":12345678901234567890,"t":"no 12345678901234567890","z":[null]}'


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://e.net", "/orders/{{ payload.id }}", "https://e.net/orders/a%2Fb%3F%23%20"),
        ("https://e.net/api/", "/x", "https://e.net/api/x"),
        ("https://e.net/api?k=v", "x", "https://e.net/api/x?k=v"),
    ],
)
def test_a_targets_path_is_joined_and_encoded(base: str, path: str, url: str) -> None:
    """One slash between; payload text never leaves its segment."""
    call = http({"id": "a/b?# "}, target=Target("t", base), url=None, path=T(path))
    assert url == call.url


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_an_empty_or_dotted_segment_is_refused(value: str) -> None:
    """It would be another place than the operator wrote."""
    with pytest.raises(RenderError, match=r"http\.url"):
        http({"id": value}, url=T("http://127.0.0.1/x/{{ payload.id }}"))


def test_query_values_are_encoded_and_the_urls_own_query_kept() -> None:
    """Text stays text."""
    call = http({"q": "a&b=c"}, url=T("http://h/x?z=1"), query=(("q", T("{{ payload.q }}")),))
    assert call.url == "http://h/x?z=1&q=a%26b%3Dc"


def test_a_url_that_is_a_secret_is_never_shown() -> None:
    """It is masked in what is kept of the call."""
    call = http(target=Target("chat", url_secret="url"), url=None, path=T("/p"))
    assert call.url == "https://chat.example.net/T0/B0/p?k=v"
    assert "chat.example.net" not in str(call.described()) + repr(call)


@pytest.mark.parametrize(
    ("auth", "name", "value"),
    [
        (Auth(bearer="erp"), "authorization", "Bearer s3cret-value"),
        (Auth(basic=("me", "erp")), "authorization", "Basic bWU6czNjcmV0LXZhbHVl"),
        (Auth(header=("X-Key", "erp")), "x-key", "s3cret-value"),
    ],
)
def test_auth(auth: Auth, name: str, value: str) -> None:
    """Bearer, basic, or a header of one's own."""
    call = http(auth=auth)
    assert value == dict(call.headers)[name]
    assert "s3cret" not in str(call.described())


def test_a_secret_in_a_body_is_sent_and_not_shown() -> None:
    """The shown body has it masked."""
    call = http(body_kind="json", body={"token": T("{{ secret.erp }}")})
    assert b"s3cret-value" in call.body
    assert "s3cret" not in str(call.described())


SECRETS_BY_THE_WAY = "{{ to_string(not_null($).secret) }}"


@pytest.mark.parametrize(
    "action",
    [
        a_log(SECRETS_BY_THE_WAY),
        a_shell(argv=(T("x"), T(SECRETS_BY_THE_WAY))),
        a_shell(stdin=T(SECRETS_BY_THE_WAY)),
        an_http(body_kind="text", body=T(SECRETS_BY_THE_WAY)),
        an_http(
            target=Target("chat", url_secret="url"),
            url=None,
            path=T("/{{ payload.id }}"),
            body_kind="text",
            body=T(SECRETS_BY_THE_WAY),
        ),
    ],
)
def test_who_names_no_secret_sees_none(action: CompiledAction) -> None:
    """Though the scope itself is read, which another action of the event has used before."""
    live = LiveRuleset(a_ruleset(), SECRETS)
    delivery, event = a_delivery(), an_event(payload={"id": 1})
    scope = event_scope(live.ruleset.roots(delivery), delivery, event, {})
    one = msgspec.structs.replace(
        an_http(headers=(("x", T("{{ secret.erp }}{{ event }}")),)), id="one"
    )
    named, unnamed = (
        render(Material(live, each, a_job(), delivery, event, {}, planned=scope))
        for each in (one, action)
    )
    assert "s3cret-value" in repr(msgspec.structs.asdict(named))
    assert "{}" in repr(msgspec.structs.asdict(unnamed))
    assert "s3cret-value" not in repr(msgspec.structs.asdict(unnamed))


def test_the_path_behind_a_secret_address_may_be_the_event_s() -> None:
    call = http(
        {"id": 7}, target=Target("chat", url_secret="url"), url=None, path=T("/{{ payload.id }}")
    )
    assert (call.url, call.shown_url) == ("https://chat.example.net/T0/B0/7?k=v", "***/7")


@pytest.mark.parametrize("text", ["a\r\nx: y", "a\nb", "a\rb", "\r", "a\r", "\n", "a\0b"])
def test_a_line_break_in_a_header_is_refused(text: str) -> None:
    """Payload never becomes a header line, nor does what some servers take for the end of one."""
    with pytest.raises(RenderError, match=r"^http\.headers\.x-a: holds a line break or NUL$"):
        http({"id": text}, headers=(("X-A", T("{{ payload.id }}")),))


def test_the_senders_headers_travel_only_when_named() -> None:
    """Others stay here, and one that is not there is not made up."""
    delivery = {"headers": (("x-trace", "t1"), ("x-other", "o"))}
    call = http(given={"delivery": delivery}, forward_headers=("x-trace", "x-missing"))
    headers = dict(call.headers)
    assert headers["x-trace"] == "t1"
    assert not {"x-other", "x-missing"} & set(headers)


def test_form_and_text_bodies() -> None:
    """Encoded by kind."""
    form = http({"a": "x&y"}, body_kind="form", body=(("f", T("{{ payload.a }}")),))
    assert form.body == b"f=x%26y"
    text = http({"a": "grüß"}, body_kind="text", body=T("hi {{ payload.a }}"))
    assert ("hi grüß".encode(), "text/plain; charset=utf-8") == (
        text.body,
        dict(text.headers)["content-type"],
    )


def test_null_in_a_text_is_a_render_error_naming_the_expression() -> None:
    """A missing value never becomes the word null."""
    with pytest.raises(RenderError, match=r"payload\.nope"):
        http(body_kind="text", body=T("x {{ payload.nope }}"))


def test_a_child_has_only_the_environment_it_was_given() -> None:
    """PATH, HOME, LANG, the four of ours, env and pass_env."""
    call = shell({"id": 5}, env=(("ORDER", T("{{ payload.id }}")),), pass_env=("TOKEN", "NOPE"))
    assert {
        "PATH": "/bin",
        "HOME": "/root",
        "LANG": "C",
        "TOKEN": "no",
        "ORDER": "5",
        "WEBHOOK_JOB": a_job().id,
        "WEBHOOK_DELIVERY": a_delivery().id,
        "WEBHOOK_EVENT": "orders/paid",
        "WEBHOOK_ATTEMPT": "1",
    } == call.env
    assert a_delivery().body == call.stdin


def test_a_script_runs_under_its_interpreter_untouched() -> None:
    """No template ever stands in a script."""
    assert shell(argv=None, script="echo $X").argv == ("sh", "-eu", "-c", "echo $X", "r")


@pytest.mark.parametrize(
    ("argv", "fine"),
    [
        (["x", "--", "{{ payload.id }}"], True),
        (["x", "{{ payload.id }}"], False),
        (["x", "-n{{ payload.id }}"], True),
    ],
)
def test_payload_never_becomes_an_option(argv: list[str], fine: bool) -> None:
    """An argument wholly from a template may not begin with '-' before `--`."""
    spec = tuple(map(T, argv))
    if fine:
        assert "-rf" in shell({"id": "-rf"}, argv=spec).argv[-1]
    else:
        with pytest.raises(RenderError, match=r'argv\[1\].*"--"'):
            shell({"id": "-rf"}, argv=spec)


def test_nul_is_refused_in_arguments_and_variables() -> None:
    """The system would cut the text there."""
    with pytest.raises(RenderError, match="NUL"):
        shell({"id": "a\0b"}, argv=(T("x"), T("{{ payload.id }}")))
    with pytest.raises(RenderError, match="NUL"):
        shell({"id": "a\0b"}, env=(("A", T("{{ payload.id }}")),))


def test_a_secret_variable_is_masked_in_what_is_kept() -> None:
    """The child gets it, the attempt does not."""
    call = shell(env=(("T", T("{{ secret.erp }}")),))
    assert call.env["T"] == "s3cret-value"
    assert "s3cret" not in str(call.described()) + repr(call)


def test_stdin_may_be_a_text_json_or_nothing() -> None:
    """`none` closes it."""
    assert None is shell(stdin="none").stdin
    assert shell(stdin=T("id {{ payload.id }}")).stdin == b"id 1"
    assert shell(stdin={"a": T("{{ payload.id }}")}).stdin == b'{"a":1}'


def test_a_log_line_shows_anything() -> None:
    """Null, lists and objects too."""
    call = rendered(a_log("x {{ payload.l }} {{ payload.nope }}"), {"l": [1, None]})
    assert LogCall("x [1,null] null") == call


def test_a_run_for_a_batch_sees_its_events_and_gets_the_exact_bytes() -> None:
    """`events` are the payloads of those it covers."""
    body = b'[{"e": 1}, {"e": 2}, {"e": 3}]'
    events = tuple(an_event(index=i, payload={"e": i + 1}, raw=b"x") for i in (0, 2))
    live = LiveRuleset(a_ruleset(), SECRETS)
    delivery = a_delivery(body=body)
    action = a_shell(argv=(T("x"), T("{{ join(',', map(&to_string(e), events)) }}")))
    call = render(Material(live, action, a_job(), delivery, events[0], {}, events))
    assert isinstance(call, ShellCall)
    assert (call.stdin, call.argv[1]) == (body, "1,3")
