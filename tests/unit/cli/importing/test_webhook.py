"""Hooks as endpoints, providers, rules and tests."""

import random
from typing import Any

import pytest
import yaml

from router.config import load, render_text
from router.rehearsal import TrialRunner
from tests.differential.webhook import corpus
from tests.differential.webhook.corpus import fits, given, value
from tests.importing import Imported
from tests.unit.cli.importing.conftest import import_of, rules_of, said, signed

KEY = "abcdef0123456789"


def passed(made: Imported, *, endpoints: int) -> int:
    """How many tests the rules hold, of which none fails."""
    loaded = load(made.text, path="rules.yaml", env={}, tests=True)
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    assert len(loaded.ruleset.endpoints) == endpoints
    runner = TrialRunner(loaded.ruleset, environ={}, random_bytes=random.Random(1).randbytes)
    results = [runner.run(trial) for trial in loaded.trials]
    assert [r.trial.name for r in results if r.failures] == []
    return len(results)


def test_a_file_of_every_kind_of_hook_passes_check_and_its_own_tests() -> None:
    hooks = [{"execute-command": "/bin/x"} | hook for hook in corpus.hooks()]
    made = import_of(*hooks)
    assert made.taken == made.found == len(hooks)
    assert passed(made, endpoints=len(hooks)) > len(hooks) / 2


def test_a_hook_is_an_endpoint_at_its_old_address() -> None:
    rules = rules_of({"id": "Über uns/x"}, {"id": "all"}, flags=("--urlprefix", "", "--ip", "::1"))
    assert rules["server"] == {"listen": "[::1]:9000"}
    assert {name: one["paths"] for name, one in rules["endpoints"].items()} == {
        "ber-uns-x": "/%C3%9Cber%20uns/x",
        "hook-all": "/all",
    }


@pytest.mark.parametrize("methods", [("POST",), ("PUT", "POST")])
def test_a_rule_may_choose_among_methods(methods: tuple[str, ...]) -> None:
    rule = {"or": [value("method", method, "request") for method in methods]}
    (provider,) = rules_of({"trigger-rule": rule})["providers"].values()
    assert provider["methods"] == ["POST", "PUT"][: len(methods)]


def test_webhooks_own_tls_is_the_listeners() -> None:
    server = rules_of({}, flags=("--secure", "--cert", "c.pem", "--key", "k.pem"))["server"]
    assert server["tls"] == {"cert": "c.pem", "key": "k.pem"}


def test_equal_secrets_have_one_name_and_equal_senders_one_provider() -> None:
    made = import_of(*({"trigger-rule": signed(secret)} for secret in ("s", "s", "t")))
    assert made.secrets == {"H0_SECRET": "s", "H2_SECRET": "t"}
    rules = rules_of(*({"trigger-rule": signed(secret)} for secret in ("s", "s", "t")))
    assert [one["secrets"] for one in rules["endpoints"].values()] == ["h0", "h0", "h2"]
    assert list(rules["providers"]) == ["webhook-hmac-sha256"]
    assert "s" not in [line.strip() for line in made.text.splitlines()]


def test_a_hook_that_is_left_out_leaves_nothing_behind() -> None:
    rule = {"and": [signed("geheim"), value("Cookie", "x", "header")]}
    rules = rules_of({"trigger-rule": rule}, {})
    assert "secrets" not in rules
    assert list(rules["endpoints"]) == ["h1"]


@pytest.mark.parametrize(
    ("header", "event"),
    [("X-Hub-Signature-256", "X-GitHub-Event"), ("x-gitea-signature", "X-Gitea-Event")],
)
def test_events_of_well_known_senders_have_their_names(header: str, event: str) -> None:
    (provider,) = rules_of({"trigger-rule": signed("s", header)})["providers"].values()
    assert provider["event"] == {"header": event}


@pytest.mark.parametrize(
    ("rule", "way"),
    [
        *((value(name, KEY, "url"), {"query": name}) for name in ("key", "t", "code", "sig")),
        *((value(name, KEY, "header"), {"header": name}) for name in ("X-Key", "X-Foo", "X-Token")),
        ({"and": [value("ref", "main"), value("key", KEY, "query")]}, {"query": "key"}),
        ({"and": [value("X-GitHub-Event", "push", "header")]}, None),
        ({"or": [value("ref", "main"), value("key", KEY, "query")]}, None),
        ({"not": value("key", KEY, "query")}, None),
        (None, None),
    ],
)
def test_a_fixed_value_of_a_header_or_query_is_a_token_and_the_rest_is_listed(
    rule: Any, way: dict[str, str] | None
) -> None:
    made = import_of({"trigger-rule": rule})
    rules = yaml.safe_load(made.text)
    endpoint, (provider,) = rules["endpoints"]["h0"], rules["providers"].values()
    assert KEY not in made.text + made.shown
    if way is None:
        assert (endpoint["verify"], endpoint["retention"]) == ("none", {"unmatched": "0s"})
        assert [one.code for one in made.listed] == ["imported-unsigned"]
        assert made.secrets == {}
    else:
        assert provider["verify"] == {"scheme": "token", **way}
        assert (made.listed, made.secrets) == ([], {"H0_SECRET": KEY})
    passed(made, endpoints=1)


def test_addresses_keep_strangers_out_too() -> None:
    hook = {"trigger-rule": {"match": {"type": "ip-whitelist", "ip-range": "10.0.0.0/8"}}}
    assert (import_of(hook).listed, rules_of(hook)["endpoints"]["h0"]["verify"]) == ([], "none")


@pytest.mark.parametrize(
    ("hook", "shell"),
    [
        (
            {"execute-command": "x", "command-working-directory": "/srv"},
            {"argv": ["./x"], "cwd": "/srv"},
        ),
        (
            {"execute-command": "../x", "command-working-directory": "d"},
            {"argv": ["../x"], "cwd": "d"},
        ),
        ({"execute-command": "x"}, {"argv": ["x"]}),
        (
            {
                "pass-arguments-to-command": [
                    given("a"),
                    given("A", "header"),
                    given("{{", "string"),
                ]
            },
            {
                "argv": [
                    "/bin/x",
                    "{{ to_string(default(payload.a, '')) }}",
                    "{{ default(headers.a, '') }}",
                    "{{ '{{' }}",
                ]
            },
        ),
        (
            {
                "pass-environment-to-command": [
                    given("a.b", envname="AB"),
                    given("", "entire-query"),
                ]
            },
            {
                "env": {
                    "AB": "{{ to_string(default(payload.a.b, '')) }}",
                    "HOOK_": "{{ to_string(query) }}",
                }
            },
        ),
        (
            {
                "pass-file-to-command": [
                    given("", "raw-request-body", envname="F"),
                    given("body", "string"),
                ]
            },
            {"files": {"F": "body", "HOOK_BODY": "{{ 'body' }}"}},
        ),
        (
            {"pass-arguments-to-command": [given("p.x")], "parse-parameters-as-json": [given("p")]},
            {"argv": ["/bin/x", "{{ to_string(default(parse_json(payload.p).x, '')) }}"]},
        ),
        (
            {"pass-arguments-to-command": [given("", "raw-request-body")]},
            {"argv": ["/bin/x", "{{ to_string(default(payload, '')) }}"]},
        ),
    ],
)
def test_commands(hook: dict[str, Any], shell: dict[str, Any]) -> None:
    made = rules_of(hook)["rules"][0]["actions"]["shell"]
    assert {key: made[key] for key in shell} == shell
    assert (made["stdin"], made["timeout"]) == ("none", "1h")


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ({"id": ""}, "a hook without an 'id' has no address"),
        ({"execute-command": ""}, "without 'execute-command' nothing is run"),
        ({"execute-command": ["x"]}, "a text was expected"),
        (
            {"pass-arguments-to-command": [given("remote-addr", "request")]},
            "'request' cannot be read",
        ),
        (
            {
                "pass-arguments-to-command": [given("x-key", "header")],
                "trigger-rule": value("X-Key", KEY, "header"),
            },
            "'x-key' holds the token",
        ),
        (
            {"pass-arguments-to-command": [given("Authorization", "header")]},
            "keeps no Authorization",
        ),
        ({"pass-arguments-to-command": ["x"]}, "webhook knows no source ''"),
        (
            {"pass-arguments-to-command": [given("", "raw-request-body"), given("a")]},
            "'raw-request-body' cannot",
        ),
        ({"parse-parameters-as-json": [given("X", "header")]}, "JSON is read within a field"),
        (
            {"http-methods": ["GET"], "trigger-rule": value("method", "POST", "request")},
            "this hook never runs",
        ),
        ({"trigger-rule": {"match": {"type": "ip-whitelist", "ip-range": "x"}}}, "'x' is no range"),
        (
            {
                "incoming-payload-content-type": "application/xml",
                "trigger-rule": value("token", "x"),
            },
            "in JSON of at most 64 KiB and in forms, nowhere else",
        ),
    ],
)
def test_what_cannot_be_run_alike_keeps_the_hook_out(hook: dict[str, Any], words: str) -> None:
    lines = [line for line in said(hook) if line.startswith("error")]
    assert any(words in line for line in lines)
    assert import_of(hook).taken == 0


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ({"response-headers": [{"name": "X-A", "value": "1"}]}, "the header 'X-A' is not sent"),
        ({"success-http-response-code": 302}, "302 would tell the sender that its delivery failed"),
        ({"success-http-response-code": 299}, "webhook knows no status 299"),
        ({"trigger-rule-mismatch-http-response-code": 400}, "400 is not answered"),
        ({"trigger-rule-mismatch-http-response-code": 202}, "202 is not answered"),
        ({"include-command-output-in-response": True}, "answered before the command runs"),
        ({"pass-environment-to-command": [given("X-A", "header")]}, "it is HOOK_X_A"),
        ({"pass-file-to-command": [given("a", envname="WEBHOOK_A")]}, "it is HOOK_WEBHOOK_A"),
        ({"trigger-rule": {"or": [signed("s"), signed("t")]}}, "any of them is enough"),
        ({"trigger-rule": value("token", "x")}, "JSON of at most 64 KiB and in forms"),
        ({"trigger-rule": value("env", "x", "url")}, "short enough to be guessed"),
        (
            {"trigger-rule": {"match": {"type": "ip-whitelist", "ip-range": "::1"}}},
            "means all of ::/32",
        ),
        (
            {"trigger-rule": {"or": [signed("s"), signed("t", "X-Other")]}},
            "each of the hook's secrets",
        ),
        ({"trigger-rule": fits("a", "x") | {"or": []}}, "webhook ignores 'match' beside 'or'"),
    ],
)
def test_what_is_otherwise_is_listed(hook: dict[str, Any], words: str) -> None:
    assert any(words in line for line in said(hook) if line.startswith("warning"))


@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        ({}, None),
        ({"response-message": "ok"}, {"body": "ok"}),
        ({"response-message": "{{ x }}"}, {"body": "{{ '{{' }} x }}"}),
        ({"response-message": "<html>"}, {"type": "text/html; charset=utf-8", "body": "<html>"}),
        ({"success-http-response-code": 202}, {"status": 202, "body": ""}),
        (
            {"success-http-response-code": 200, "trigger-rule-mismatch-http-response-code": 200},
            None,
        ),
        ({"success-http-response-code": 204, "response-message": "x"}, {"status": 204, "body": ""}),
        (
            {
                "response-headers": [{"name": "content-type", "value": "text/csv"}],
                "response-message": "a",
            },
            {"type": "text/csv", "body": "a"},
        ),
    ],
)
def test_answers(hook: dict[str, Any], answer: dict[str, Any] | None) -> None:
    assert rules_of(hook)["endpoints"]["h0"].get("answer") == answer


def test_a_rule_with_choices_is_tried_by_the_first_that_a_request_can_be_made_of() -> None:
    """Nobody can make a text of a pattern."""
    one_of = {"or": [fits("ref", "^v"), value("ref", "main"), value("ref", "dev")]}
    both = {"and": [value("kind", "push"), one_of]}
    none = {"or": [fits("ref", "^v"), fits("ref", "^w")]}
    made = import_of({"trigger-rule": both}, {"trigger-rule": none})
    [test] = yaml.safe_load(made.text)["tests"]
    assert test["send"]["payload"] == {"kind": "push", "ref": "main"}
    assert passed(made, endpoints=2) == 1


def test_one_id_in_two_files_is_one_hook() -> None:
    hook = {"id": "a"}
    assert import_of(hook, hook).taken == 1
    assert "the hook 'a' stands twice, first at hooks.json:2" in said(hook, hook)[-1]
