"""`tls`, `sign`, `limits`, `user`, `files`: from the file to what runs."""

from pathlib import Path

import pytest

from router.config import load
from router.config.loading import Loaded
from router.kinds.http import HttpSpec
from router.kinds.shell import ShellSpec
from router.model.settings import ShellLimits, Sign, Tls

HEAD = """version: 1
secrets: {shop: {env: S}, new: {env: N}, old: {env: O}, ck: {env: C}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
targets:
  erp:
    url: https://erp.example.net
    tls: {ca: keys/ca.pem, cert: keys/c.pem, key: {secret: ck}}
    sign: {scheme: standard-webhooks, secrets: [new, old]}
"""


def loaded(action: str) -> Loaded:
    rule = f"rules: [{{id: r, from: shop, actions: {action}}}]\n"
    return load(HEAD + rule, path="/etc/router/r.yaml", env={})


def http(text: str) -> HttpSpec:
    found = loaded(f"{{http: {text}}}")
    assert found.ruleset is not None, found.diagnostics
    spec = found.ruleset.rules[0].actions[0].spec
    assert isinstance(spec, HttpSpec)
    return spec


def shell(text: str) -> ShellSpec:
    found = loaded(f"{{shell: {text}}}")
    assert found.ruleset is not None, found.diagnostics
    spec = found.ruleset.rules[0].actions[0].spec
    assert isinstance(spec, ShellSpec)
    return spec


def refused(action: str) -> list[str]:
    return [d.code for d in loaded(action).diagnostics if d.severity == "error"]


def test_a_call_takes_the_target_s_and_overrides_it() -> None:
    keys = Path("/etc/router/keys")
    spec = http("{target: erp}")
    assert spec.tls == Tls(str(keys / "ca.pem"), str(keys / "c.pem"), None, "ck")
    assert spec.sign == Sign(("new", "old"), "standard-webhooks")
    own = http("{target: erp, tls: {ca: /srv/ca.pem}, sign: {header: X-Sig, secrets: old}}")
    assert own.tls == Tls(ca="/srv/ca.pem")
    assert own.sign == Sign(("old",), header="X-Sig")


def test_a_header_of_one_s_own_in_full() -> None:
    spec = http(
        "{url: 'https://x.example/', sign: {header: X-Hub, secrets: new, algorithm: sha512,"
        " encoding: base64, prefix: 'v='}}"
    )
    assert spec.sign == Sign(("new",), "hmac", "X-Hub", "sha512", "base64", "v=")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("tls: {}", "tls-incomplete"),
        ("tls: {key: k.pem}", "tls-incomplete"),
        ("tls: {cert: c.pem, key: {}}", "exactly-one"),
        ("tls: {cert: c.pem, key: {secret: nokey}}", "unknown-secret"),
        ("tls: {verify: false}", "unknown-key"),
        ("sign: {secrets: new}", "exactly-one"),
        ("sign: {header: X-A}", "missing-key"),
        ("sign: {header: X-A, secrets: []}", "sign-incomplete"),
        ("sign: {header: X-A, scheme: standard-webhooks, secrets: new}", "exactly-one"),
        ("sign: {scheme: standard-webhooks, secrets: new, prefix: x}", "sign-incomplete"),
        ("sign: {scheme: standard-webhook, secrets: new}", "unknown-value"),
        ("sign: {header: 'X A', secrets: new}", "bad-header"),
        ("sign: {header: Idempotency-Key, secrets: new}", "bad-header"),
        ("sign: {header: X-A, secrets: nw}", "unknown-secret"),
        ("sign: {header: X-A, secrets: new}, headers: {x-a: b}", "bad-header"),
        ("sign: {scheme: standard-webhooks, secrets: new}, headers: {Webhook-Id: b}", "bad-header"),
    ],
)
def test_what_is_no_way_to_secure_a_call(text: str, code: str) -> None:
    assert code in refused(f"{{http: {{url: 'https://x.example/', {text}}}}}")


def test_tls_without_tls() -> None:
    assert refused("{http: {url: 'http://x.example/', tls: {ca: c.pem}}}") == ["tls-incomplete"]
    assert refused("{http: {url: 'https://x.example/', tls: {ca: c.pem}}}") == []


def test_a_command_s_footing() -> None:
    spec = shell(
        "{argv: [x], limits: {cpu: 1500ms, memory: 512MiB, files: 256},"
        " files: {PAYLOAD_FILE: body, ORDER: {id: '{{ payload.id }}'}, NOTE: 'a {{ event }}'}}"
    )
    assert spec.limits == ShellLimits(2, 512 * 1024**2, 256)
    assert [name for name, _ in spec.files] == ["PAYLOAD_FILE", "ORDER", "NOTE"]
    assert spec.files[0][1] == "body"


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ("{shell: {argv: ['{{ not_null($).payload.id }}']}}", "bad-program"),
        ("{shell: {argv: ['{{ now() }}']}}", "bad-program"),
        ("{http: '{{ concat(secret.new, not_null($).payload.id) }}'}", "template-not-here"),
    ],
)
def test_what_is_read_without_a_name_comes_from_the_event_too(action: str, code: str) -> None:
    assert code in refused(action)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("limits: {cpu: 0s}", "bad-value"),
        ("limits: {files: 0}", "bad-value"),
        ("limits: {memory: 0MiB}", "bad-value"),
        ("limits: {processes: 10}", "unknown-key"),
        ("files: {WEBHOOK_BODY: body}", "bad-variable"),
        ("files: {a-b: body}", "bad-variable"),
        ("files: {A: body}, env: {A: x}", "bad-variable"),
        ("files: {A: '{{ secret.shop }}'}", "root-not-here"),
    ],
)
def test_what_is_no_footing(text: str, code: str) -> None:
    assert code in refused(f"{{shell: {{argv: [x], {text}}}}}")
