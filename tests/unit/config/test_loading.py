"""Right files become rulesets with every default filled in."""

import gc
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from router.config import KeptFiles, Loaded, decode_text, load
from router.errors import ConfigError
from router.kinds.http import HttpSpec
from router.kinds.shell import ShellSpec
from router.model.retry import NONE, SHORT, STANDARD
from router.model.settings import Limits, Retention
from router.model.store_address import SqliteFile
from router.rules.ruleset import Ruleset

ENDPOINT = "{id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, verify: none}"
HEAD = f"version: 1\nendpoints:\n  shop: {ENDPOINT}\n"


def loaded(text: str, *, dev: bool = False, **env: str) -> Loaded:
    return load(text, path="/srv/rules/rules.yaml", env=env, dev=dev)


def ruleset(text: str, *, dev: bool = False, **env: str) -> Ruleset:
    result = loaded(text, dev=dev, **env)
    assert result.ruleset is not None, result.diagnostics
    return result.ruleset


def codes(text: str, *, dev: bool = False, **env: str) -> list[str]:
    return [d.code for d in loaded(text, dev=dev, **env).diagnostics]


def action(text: str, **env: str) -> HttpSpec | ShellSpec:
    rules = f"{HEAD}rules:\n  - {{id: a, from: shop, actions: {text}}}\n"
    spec = ruleset(rules, **env).rules[0].actions[0].spec
    assert isinstance(spec, HttpSpec | ShellSpec)
    return spec


def test_the_shortest_useful_file() -> None:
    found = ruleset(
        HEAD + "rules:\n  - {id: paid, from: shop, events: orders/paid,"
        " actions: {http: https://erp.example.net/orders}}\n"
    )
    (rule,) = found.rules
    (act,) = rule.actions
    assert (rule.sources, rule.events, rule.mode) == (("shop",), ("orders/paid",), "live")
    assert (act.id, act.kind, act.target) == ("http", "http", "https://erp.example.net:443")
    assert act.retry is STANDARD
    spec = act.spec
    assert isinstance(spec, HttpSpec)
    assert (spec.method, spec.body_kind, spec.accept, spec.timeout_s) == (
        "POST",
        "default",
        ((200, 299),),
        30.0,
    )


def test_defaults_of_the_server() -> None:
    server = ruleset(HEAD).server
    assert (server.base_url, server.listen, server.admin) == (
        "http://127.0.0.1:8000",
        "0.0.0.0:8000",
        "127.0.0.1:8001",
    )
    assert server.store == SqliteFile("/srv/rules/router.db")
    assert (server.retention, server.limits, server.grace_s) == (Retention(), Limits(), 20.0)


@pytest.mark.parametrize(
    ("listen", "given", "base_url"),
    [
        ("127.0.0.1:8100", "", "http://127.0.0.1:8100"),
        ("0.0.0.0:8100", "", "http://127.0.0.1:8100"),
        ("'[::]:8100'", "", "http://[::1]:8100"),
        ("203.0.113.7:8100", "", "http://203.0.113.7:8100"),
        ("0.0.0.0:8443", ", tls: {cert: c.pem}", "https://127.0.0.1:8443"),
        ("0.0.0.0:8100", ", base_url: 'https://a.example'", "https://a.example"),
    ],
)
def test_the_address_of_senders_follows_the_listener(
    listen: str, given: str, base_url: str
) -> None:
    found = ruleset(f"{HEAD}server: {{listen: {listen}{given}}}\n")
    assert found.server.base_url == base_url


def test_development_listens_on_loopback_and_has_a_store_of_its_own() -> None:
    server = ruleset(HEAD, dev=True).server
    assert server.listen == "127.0.0.1:8000"
    assert server.store == SqliteFile("/srv/rules/router-dev.db")


@pytest.mark.parametrize(
    ("store", "path"),
    [("sqlite:data/r.db", "/srv/rules/data/r.db"), ("sqlite:/var/r.db", "/var/r.db")],
)
def test_the_store_is_relative_to_the_file(store: str, path: str) -> None:
    assert ruleset(f"{HEAD}server: {{store: '{store}'}}\n").server.store == SqliteFile(path)


def test_the_path_of_base_url_is_part_of_the_addresses() -> None:
    text = f"{HEAD}  more: {{paths: [/x], provider: github, verify: none}}\n"
    found = ruleset(f"{text}server: {{base_url: 'https://example.com/hooks/'}}\n")
    assert found.endpoints["shop"].addresses == ("/hooks/wh_8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54",)
    assert found.endpoints["more"].addresses == ("/hooks/x",)


def test_an_id_of_digits_is_text_as_written() -> None:
    text = HEAD.replace("8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54", "00345678901234567890123456789012")
    assert ruleset(text).endpoints["shop"].addresses == ("/wh_00345678901234567890123456789012",)


def test_environment_values_are_filled_in_and_are_part_of_the_generation() -> None:
    text = (
        f"{HEAD}vars:\n  main: {{env: BRANCH, default: 1.10}}\n  plain: {{env: X, other: Y}}\n"
        "targets:\n  erp: {url: {env: ERP, default: 'https://a.example.net'}}\n"
    )
    default, given = ruleset(text), ruleset(text, BRANCH="dev", ERP="https://b.example.net")
    assert default.variables == {"main": "1.10", "plain": {"env": "X", "other": "Y"}}
    assert given.variables["main"] == "dev"
    assert given.targets["erp"].url == "https://b.example.net"
    assert default.generation != given.generation
    assert default.generation == ruleset(text).generation
    assert given.context["env"] == {"BRANCH": "dev", "ERP": "https://b.example.net"}


@pytest.mark.parametrize(
    ("written", "environ", "found"),
    [
        ("{env: N, default: 500}", {}, "500"),
        ("{env: N, default: 500}", {"N": "7"}, "7"),
        ("{env: N, default: 500, as: number}", {}, 500),
        ("{env: N, default: 1.50, as: number}", {"N": "7.25"}, Decimal("7.25")),
        ("{env: N, as: number}", {"N": "-7"}, -7),
        ("{env: N, default: null}", {}, None),
        ("{env: N, as: number, other: 1}", {}, {"env": "N", "as": "number", "other": 1}),
    ],
)
def test_a_variable_of_the_environment_is_a_text_unless_it_is_to_be_a_number(
    written: str, environ: dict[str, str], found: Any
) -> None:
    assert ruleset(f"{HEAD}vars: {{n: {written}}}\n", **environ).variables["n"] == found


@pytest.mark.parametrize(
    ("written", "environ", "at", "message"),
    [
        ("{env: N, as: number}", {"N": "sesame"}, "N,", "variable 'N' is to be a number"),
        ("{env: N, as: number, default: x}", {}, "x}", "the default is not a number"),
        ("{env: N, as: number, default: x}", {"N": "1"}, "x}", "the default is not a number"),
        ("{env: N, default: [x]}", {"N": "1"}, "[x", "the default is not a text"),
        ("{env: N, as: text}", {"N": "1"}, "text}", "'as' is 'number'"),
    ],
)
def test_a_variable_that_is_not_what_it_is_to_be_is_an_error_that_does_not_show_it(
    written: str, environ: dict[str, str], at: str, message: str
) -> None:
    text = f"vars: {{number: {written}}}\n{HEAD}"
    [one] = load(text, path="r.yaml", env=environ).diagnostics
    assert (one.code, one.severity, one.line) == ("bad-value", "error", 1)
    assert message in one.message
    assert "sesame" not in f"{one.message}{one.hint}"
    assert one.column == text.index(at) + 1


def test_a_missing_address_of_a_target_is_the_sink_in_development() -> None:
    text = f"{HEAD}targets:\n  erp: {{url: {{env: ERP}}}}\n"
    assert codes(text) == ["variable-not-set"]
    assert ruleset(text, dev=True).targets["erp"].url == "http://127.0.0.1:9000/erp"


def test_secret_values_are_never_read() -> None:
    text = (
        HEAD.replace("verify: none", "secrets: s") + "secrets: {s: {env: S, until: 2026-12-01}}\n"
    )
    found = ruleset(text, S="very secret")
    assert "very secret" not in repr(found)
    assert found.secrets["s"].until == 1_796_083_200_000


@pytest.mark.parametrize("proof", ["secrets: s", "verify: none"])
def test_body_limits_are_those_of_the_provider_signed_or_not(proof: str) -> None:
    """A large push, and a batch of 1,000 events, are as large where nobody verifies them."""
    text = (
        "version: 1\nsecrets: {s: {env: S}}\nendpoints:\n"
        f"  used: {{paths: [/used], provider: github, secrets: s}}\n"
        f"  code: {{paths: [/a], provider: github, {proof}}}\n"
        f"  mail: {{paths: [/c], provider: sendgrid, {proof}}}\n"
        f"  shop: {{paths: [/b], provider: shopify, {proof}, body_max: 2MiB}}\n"
        "  any: {paths: [/d], provider: none, verify: none}\n"
    )
    found = ruleset(text).endpoints
    sizes = {name: found[name].body_max // 1024**2 for name in found}
    assert sizes == {"used": 25, "code": 25, "mail": 5, "shop": 2, "any": 1}


def test_other_names_of_a_provider_are_the_same_one() -> None:
    found = ruleset(HEAD)
    assert found.endpoints["shop"].provider == "commerce"
    assert found.providers["commerce"].name == "commerce"


@pytest.mark.parametrize(
    ("dedupe", "mode", "window"),
    [
        ("off", "off", 7),
        ("body", "body", 7),
        ("{window: 1d}", "id", 1),
        ("{key: payload.id, window: 2d}", "key", 2),
    ],
)
def test_dedupe(dedupe: str, mode: str, window: int) -> None:
    found = ruleset(HEAD.replace("verify", f"dedupe: {dedupe}, verify"))
    assert found.endpoints["shop"].dedupe.mode == mode
    assert found.endpoints["shop"].dedupe.window_ms == window * 86_400_000
    assert ("shop" in found.dedupe_keys) == (mode == "key")


def test_retry_of_the_action_before_that_of_the_rule_before_the_default() -> None:
    text = (
        f"{HEAD}retries: {{own: {{schedule: 1m}}}}\nrules:\n"
        "  - {id: a, from: all, retry: short, actions: [{id: x, log: a},"
        " {id: y, log: b, retry: own}, {id: z, log: c, retry: {schedule: [5s, 1m], jitter: 0}}]}\n"
        "  - {id: b, from: all, actions: {log: a}}\n"
    )
    first, second = ruleset(text).rules
    assert first.sources is None
    assert first.actions[0].retry is SHORT
    assert first.actions[1].retry.schedule_ms == (60_000,)
    assert (first.actions[2].retry.schedule_ms, first.actions[2].retry.jitter) == (
        (5000, 60_000),
        0,
    )
    assert second.actions[0].retry is NONE
    assert second.actions[0].target == "b/log"


def test_headers_and_auth_of_a_target_are_those_of_its_calls() -> None:
    text = (
        f"{HEAD}secrets: {{k: {{env: K}}}}\n"
        "targets:\n  erp: {url: 'http://erp:81', auth: {bearer: k}, headers: {X-A: a, X-B: b}}\n"
        "rules:\n  - id: a\n    from: shop\n    actions:\n"
        "      - {id: one, http: {target: erp, headers: {x-a: mine}}}\n"
        "      - {id: two, http: {target: erp, auth: {header: {X-Key: k}}, timeout: 5s}}\n"
    )
    one, two = (a.spec for a in ruleset(text).rules[0].actions)
    assert isinstance(one, HttpSpec)
    assert isinstance(two, HttpSpec)
    assert [(n, t.text) for n, t in one.headers] == [("X-B", "b"), ("x-a", "mine")]
    assert one.auth is not None
    assert one.auth.bearer == "k"
    assert two.auth is not None
    assert two.auth.header == ("X-Key", "k")
    assert two.timeout_s == 5.0


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://a.example.net/x", "https://a.example.net:443"),
        ("http://a.example.net", "http://a.example.net:80"),
        ("http://a.example.net:8080/{{ payload.id }}", "http://a.example.net:8080"),
        ("https://[2001:db8::1]/x?y={{ event }}", "https://[2001:db8::1]:443"),
    ],
)
def test_calls_by_bare_url_share_a_target_by_address(url: str, name: str) -> None:
    rules = f"{HEAD}rules:\n  - {{id: a, from: shop, actions: {{http: '{url}'}}}}\n"
    assert ruleset(rules).rules[0].actions[0].target == name


def test_shell_defaults() -> None:
    script = action("{shell: {script: 'echo \"$A\"'}}")
    assert isinstance(script, ShellSpec)
    assert (script.interpreter, script.stdin, script.cwd, script.timeout_s) == (
        ("sh", "-eu"),
        "default",
        "/srv/rules",
        600.0,
    )
    argv = action("{shell: {argv: [ls, -l], stdin: none, cwd: bin, pass_env: HOME}}")
    assert isinstance(argv, ShellSpec)
    assert (argv.interpreter, argv.stdin, argv.cwd, argv.pass_env) == (
        (),
        "none",
        "/srv/rules/bin",
        ("HOME",),
    )


def test_json_bodies_keep_types_and_digits() -> None:
    spec = action("{http: {url: 'http://x/', json: {a: 1.10, b: yes, c: '1', d: ~, e: [true]}}}")
    assert isinstance(spec, HttpSpec)
    body = spec.body
    assert str(body["a"]) == "1.10"
    assert body["d"] is None
    assert body["e"] == [True]
    assert (body["b"].text, body["c"].text) == ("yes", "1")


def test_conditions() -> None:
    text = (
        f"{HEAD}rules:\n  - id: a\n    from: shop\n    actions: {{log: a}}\n"
        "    match:\n      - {any: [payload.a, {not: payload.b}]}\n"
    )
    (condition,) = ruleset(text).rules[0].match
    assert condition.source == "any: [payload.a, not: payload.b]"
    assert condition.any_of is not None
    assert condition.any_of[1].negate is not None


def test_warnings_alone_leave_a_ruleset() -> None:
    result = loaded(HEAD.replace("8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54", "short"))
    assert [d.severity for d in result.diagnostics] == ["warning"]
    assert result.ruleset is not None


def test_an_error_leaves_none() -> None:
    assert loaded("version: 2\n").ruleset is None


def test_bytes_that_are_not_utf8_are_pointed_at() -> None:
    with pytest.raises(ConfigError) as caught:
        decode_text(b"version: 1\nvars: {a: caf\xe9}\n", path="r.yaml")
    (found,) = caught.value.diagnostics
    assert (found.code, found.line, found.column) == ("unreadable-text", 2, 14)


def test_the_collector_is_left_as_it_was() -> None:
    assert gc.isenabled()
    loaded("version: [")
    assert gc.isenabled()


def test_importing_and_loading_stay_light() -> None:
    import subprocess  # noqa: PLC0415 - a fresh interpreter tells what is imported
    import sys  # noqa: PLC0415

    program = (
        "import sys; from router.config import load; load('version: 1', path='x', env={});"
        "print([m for m in ('cryptography','litestar','structlog') if m in sys.modules])"
    )
    root = Path(__file__).parents[3]
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )
    assert out.stdout.strip() == "[]"


class NoRoom(KeptFiles):
    """Included files that take all the memory there is."""

    def fitting(self, pattern: str) -> list[str]:
        return [pattern]

    def read(self, name: str) -> bytes:
        raise MemoryError


def test_too_little_memory_is_a_fault_of_the_file() -> None:
    found = load(HEAD + "include: [more.yaml]\n", path="rules.yaml", env={}, files=NoRoom({}))
    assert found.ruleset is None
    assert [d.code for d in found.diagnostics] == ["too-big"]


@pytest.mark.parametrize("written", ["github", "code-host"])
def test_the_hint_of_an_unknown_root_names_senders_as_the_file_does(written: str) -> None:
    found = load(
        f"""\
version: 1
secrets: {{s: {{env: S}}}}
endpoints:
  code: {{id: code-0123456789abcdef, provider: {written}, secrets: s}}
  shop: {{id: shop-0123456789abcdef, provider: shopify, secrets: s}}
rules:
  - {{id: a, from: shop, match: branch == 'main', actions: {{log: x}}}}
""",
        path="rules.yaml",
        env={},
    )
    [hint] = [one.hint for one in found.diagnostics if one.code == "unknown-root"]
    assert hint.startswith(f"only events of {written} have it; ")
