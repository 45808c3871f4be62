"""`router dispatch-event` against a real server that follows the interface."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api_server import TOKEN, Answer, ApiServer, api_server
from tests.unit.cli.conftest import Router

RULES = """\
version: 1
secrets:
  hub: {env: HUB_SECRET}
  token: {env: HUB_TOKEN}
endpoints:
  code:
    id: code-0123456789abcdef
    provider: github
    secrets: hub
    api: {base: {env: HUB_BASE, default: "https://api.github.com"}, token: token}
rules:
  - {id: pushes, from: code, events: push, actions: {log: push}}
"""


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with api_server() as server:
        yield server


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: ApiServer) -> Path:
    monkeypatch.setenv("HUB_TOKEN", TOKEN)
    monkeypatch.setenv("HUB_BASE", api.url)
    path = tmp_path / "rules.yaml"
    path.write_text(RULES, "utf-8")
    return path


def test_an_event_as_the_interface_shows_it(router: Router, rules: Path, api: ApiServer) -> None:
    ran = router("dispatch-event", "octo/deploys", "go", "-f", rules)
    assert (ran.code, ran.out) == (0, "go dispatched to octo/deploys\n")
    (asked,) = api.asked
    assert (asked.method, asked.path) == ("POST", "/repos/octo/deploys/dispatches")
    assert asked.headers["authorization"] == f"token {TOKEN}"
    assert asked.headers["accept"] == "application/vnd.github.v3+json"
    assert asked.body == {"event_type": "go"}


def test_a_payload_goes_along(router: Router, rules: Path, api: ApiServer) -> None:
    payload = rules.parent / "payload.json"
    payload.write_text('{"version": "1.2"}')
    args = ["--payload", payload, "--endpoint", "code", "--json", "-f", rules]
    ran = router("dispatch-event", "octo/deploys", "go", *args)
    assert json.loads(ran.out) == {"repository": "octo/deploys", "event_type": "go", "words": None}
    assert api.asked[0].body == {"event_type": "go", "client_payload": {"version": "1.2"}}


def test_without_a_rules_file(
    router: Router, tmp_path: Path, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINE", TOKEN)
    args = ["--token-env", "MINE", "--api-base", api.url]
    assert router("dispatch-event", "octo/deploys", "go", *args).code == 0


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(401, {"message": f"Bad credentials {TOKEN}"}), "HTTP 401: Bad credentials ***"),
        (Answer(429, {"message": "slow down"}), "HTTP 429: slow down"),
        (Answer(500, "<html>"), "HTTP 500: <html>"),
        (Answer(200, "<html>Please log in"), "HTTP 200 with text/html, where success is 204"),
        (Answer(200), "HTTP 200 with nothing, where success is 204 with nothing"),
        (Answer(202, {"queued": True}), "HTTP 202 with application/json"),
        ("hang", "no answer within 0.2 s"),
        ("close", "the answer is not acceptable HTTP, or broke off"),
    ],
)
def test_failures_in_plain_words(
    router: Router, rules: Path, api: ApiServer, answer: Answer | str, words: str
) -> None:
    api.script.append(answer)
    ran = router("dispatch-event", "octo/deploys", "go", "--timeout", "0.2", "-f", rules)
    assert ran.code == 1
    assert words in ran.err
    assert TOKEN not in ran.err + ran.out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["octo", "go"], "name a repository as OWNER/REPO"),
        (["octo/..", "go"], "name a repository as OWNER/REPO"),
        (["octo/x", "go", "--endpoint", "nope"], "no endpoint 'nope' of provider github"),
        (["octo/x", "go", "--payload", "nope.json"], "cannot read nope.json"),
        (["octo/x", "go", "--api-base", "nope"], "is not an address"),
        (["octo/x", "go", "--token", "hub"], "environment variable HUB_SECRET is not set"),
    ],
)
def test_wrong_words_name_the_fix(router: Router, rules: Path, args: list[str], words: str) -> None:
    ran = router("dispatch-event", *args, "-f", rules)
    assert ran.code == 2
    assert words in ran.err


def test_no_token_or_two(router: Router, rules: Path) -> None:
    rules.write_text(RULES.replace(", token: token}", "}"))
    assert "no access token is named" in router("dispatch-event", "o/r", "go", "-f", rules).err
    second = (
        "  more: {id: more-0123456789abcdef, provider: github, secrets: hub, api: {token: hub}}\n"
    )
    rules.write_text(RULES.replace("rules:\n", f"{second}rules:\n"))
    ran = router("dispatch-event", "o/r", "go", "-f", rules)
    assert "name one of code, more with --endpoint" in ran.err


TWO = """\
  there:
    id: there-0123456789abcdef
    provider: github
    secrets: hub
    api: {base: "https://api.github.com", token: other}
rules:
"""


@pytest.fixture
def two(rules: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A second endpoint of the code host, elsewhere, with a token of its own."""
    monkeypatch.setenv("OTHER_TOKEN", "other-0123456789abcdef")
    text = RULES.replace("endpoints:\n", "  other: {env: OTHER_TOKEN}\nendpoints:\n")
    rules.write_text(text.replace("rules:\n", TWO))
    return rules


def test_a_secret_goes_to_the_api_whose_token_it_is(
    router: Router, two: Path, api: ApiServer
) -> None:
    assert router("dispatch-event", "o/r", "go", "--token", "token", "-f", two).code == 0
    assert api.asked[0].headers["authorization"] == f"token {TOKEN}"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--token", "hub"], "the secret 'hub' belongs to http://127.0.0.1:"),
        (["--endpoint", "code", "--token", "other"], "belongs to https://api.github.com: name one"),
        (["--endpoint", "there", "--api-base", "BASE"], "is for https://api.github.com: name the"),
        (["--endpoint", "code", "--api-base", "http://localhost:1"], "the token of endpoint code"),
    ],
)
def test_no_token_goes_where_it_does_not_belong(
    router: Router,
    two: Path,
    api: ApiServer,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    words: str,
) -> None:
    monkeypatch.setenv("HUB_SECRET", "hub-0123456789abcdef")
    given = [api.url if arg == "BASE" else arg for arg in args]
    ran = router("dispatch-event", "o/r", "go", *given, "-f", two)
    assert ran.code == 2
    assert words in ran.err
    assert api.asked == []


def test_a_token_that_is_named_goes_where_it_says(
    router: Router, two: Path, api: ApiServer
) -> None:
    named = ["--token", "other", "--api-base", api.url]
    assert router("dispatch-event", "o/r", "go", *named, "-f", two).code == 1
    assert api.asked[0].headers["authorization"] == "token other-0123456789abcdef"


def test_a_payload_that_is_no_json(router: Router, rules: Path) -> None:
    payload = rules.parent / "payload.json"
    payload.write_text("{")
    ran = router("dispatch-event", "o/r", "go", "--payload", payload, "-f", rules)
    assert ran.code == 2
    assert "is not JSON" in ran.err
