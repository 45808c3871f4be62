"""`repository_dispatch` as a job: rendered, sent to a real server, its answer classed."""

from collections.abc import Iterator

import pytest

from router.actions.http import HttpAction
from router.config import load
from router.errors import RenderError
from router.kinds.http import HttpCall
from router.model.job import Done, Outcome, RetryOutcome
from router.rules.live import LiveRuleset, SecretValues
from router.rules.render import Material, render
from tests.api_server import TOKEN, Answer, ApiServer, api_server
from tests.builders import a_delivery, a_job, an_event

RULES = """\
version: 1
secrets: {hub: {env: HUB}, token: {env: TOKEN}}
endpoints:
  code: {id: code-0123456789abcdef, provider: github, secrets: hub}
rules:
  - id: built
    from: code
    events: push
    actions:
      repository_dispatch:
        repo: octo/{{ payload.repository.name }}
        event_type: built {{ payload.ref }}
        client_payload: {id: "{{ payload.id }}", tags: ["{{ payload.ref }}", 1]}
        token: token
        api_base: BASE
        timeout: 1s
"""


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with api_server() as server:
        yield server


def call_of(base: str, name: object = "x", token: str = TOKEN) -> HttpCall:
    ruleset = load(RULES.replace("BASE", base), path="rules.yaml", env={}).ruleset
    assert ruleset is not None
    live = LiveRuleset(ruleset, SecretValues({"hub": b"h" * 32, "token": token.encode()}, {}))
    payload = {"repository": {"name": name}, "ref": "v1", "id": 12}
    event, delivery = an_event(name="push", payload=payload), a_delivery(endpoint="code")
    material = Material(live, ruleset.rules[0].actions[0], a_job(), delivery, event, {})
    call = render(material)
    assert isinstance(call, HttpCall)
    return call


async def test_the_interface_s_call(api: ApiServer, action: HttpAction) -> None:
    outcome = await action.run(call_of(api.url), a_job())
    assert isinstance(outcome, Done)
    assert outcome.result["status"] == 204
    (asked,) = api.asked
    assert (asked.method, asked.path) == ("POST", "/repos/octo/x/dispatches")
    assert asked.headers["authorization"] == f"token {TOKEN}"
    assert asked.headers["accept"] == "application/vnd.github.v3+json"
    assert asked.body == {"event_type": "built v1", "client_payload": {"id": 12, "tags": ["v1", 1]}}
    assert asked.headers["idempotency-key"] == a_job().id


@pytest.mark.parametrize("name", ["../../user", "x/y", "x?y", "x#y"])
async def test_a_payload_cannot_lead_elsewhere(
    api: ApiServer, action: HttpAction, name: str
) -> None:
    await action.run(call_of(api.url, name), a_job())
    path = api.asked[0].path
    assert path.startswith("/repos/octo/")
    assert path.count("/") == 4


@pytest.mark.parametrize("name", ["..", ".", "", None, ["x"]])
def test_a_payload_that_names_no_repository(name: object) -> None:
    with pytest.raises(RenderError, match=r"http\.url"):
        call_of("https://api.github.com", name)


def classed(outcome: Outcome) -> tuple[str, str, float | None]:
    assert isinstance(outcome, RetryOutcome)
    return outcome.failure, outcome.reason, outcome.after_s


@pytest.mark.long
@pytest.mark.parametrize(
    ("scripted", "expected"),
    [
        (Answer(429, "", {"Retry-After": "7"}), ("throttled", "HTTP 429", 7.0)),
        (Answer(500, "oops"), ("server", "HTTP 500", None)),
        (Answer(404, {"message": "Not Found"}), ("client", "HTTP 404", None)),
        (Answer(200, "<html>Please log in"), ("client", "HTTP 200", None)),
        ("hang", ("timeout", "no answer within 1 s", None)),
    ],
)
async def test_failures_are_those_of_every_http_action(
    api: ApiServer, action: HttpAction, scripted: Answer | str, expected: tuple[str, str, float]
) -> None:
    api.script.append(scripted)
    assert classed(await action.run(call_of(api.url), a_job())) == expected


async def test_the_token_is_shown_nowhere(api: ApiServer, action: HttpAction) -> None:
    call = call_of(api.url)
    assert TOKEN not in repr(call) + str(call.described())
    api.script.append(Answer(401, {"message": f"bad token {TOKEN}"}, {"X-Echo": f"token {TOKEN}"}))
    outcome = await action.run(call, a_job())
    assert TOKEN not in str(outcome.result)
