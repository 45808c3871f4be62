"""What `check` refuses for its structure alone an editor refuses too, by the published schema."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from router import providers
from router.config import load
from router.config.json_schema import schema_of_rules, schema_of_tests
from tests.docs.test_schema import document
from tests.golden.pairs import CODES_FOLDER

ROOT = Path(__file__).parents[2]
SCHEMA = schema_of_rules(providers.builtin())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)

RIGHT = """
version: 1
server: {listen: "0.0.0.0:8000", store: sqlite:router.db, trusted_proxies: [10.0.0.0/8]}
secrets: {shop: {env: SHOP_SECRET}, erp: {env: ERP_TOKEN}}
vars: {limit: 500}
targets: {erp: {url: https://erp.example.net, auth: {bearer: erp}, rate: 5/s, concurrency: 4}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop, body_max: 2MiB}
define: {total: decimal(payload.total_price)}
rules:
  - id: paid
    from: shop
    events: [orders/paid]
    match: [def.total >= var.limit, any: [payload.confirmed]]
    concurrency: {group: payload.id, limit: 2}
    actions:
      - {id: erp, http: {target: erp, method: PUT, json: {a: 1}, accept: [2xx, 409], timeout: 20s}}
      - {id: tell, shell: {argv: [bin/tell], env: {NAME: x}, timeout: 10s}}
retries: {gentle: {schedule: [1m], jitter: 0.2}}
tests:
  - name: a
    send: {endpoint: shop, event: orders/paid}
    expect: {status: 200}
""".lstrip()

WRONG = [
    # old, new, what check calls it
    ("version: 1", "version: 2", "unknown-version"),
    ("version: 1\n", "", "missing-key"),
    ("vars:", "variables:", "unknown-key"),
    ('"0.0.0.0:8000"', "8000", "bad-address"),
    ("sqlite:router.db", "router.db", "bad-store"),
    ("[10.0.0.0/8]", "[proxy.internal]", "bad-range"),
    ("{env: SHOP_SECRET}", "{env: SHOP_SECRET, file: shop.key}", "exactly-one"),
    ("{env: SHOP_SECRET}", "{until: 2026-12-01}", "exactly-one"),
    ("{env: SHOP_SECRET}", "{env: my-secret}", "bad-variable"),
    ("secrets: {shop:", "secrets: {the-shop:", "bad-name"),
    ("{limit: 500}", "{Limit: 500}", "bad-name"),
    ("targets: {erp:", "targets: {The ERP:", "bad-name"),
    ("https://erp.example.net", "erp.example.net", "bad-url"),
    ("https://erp.example.net", "https://me:secret@erp.example.net", "password-in-url"),
    ("{bearer: erp}", "{bearer: erp, header: {X-Key: erp}}", "exactly-one"),
    ("{bearer: erp}", "{header: {X-Key: erp, X-Other: erp}}", "exactly-one"),
    ("rate: 5/s", "rate: 0/s", "bad-value"),
    ("rate: 5/s", "rate: 5 per second", "bad-value"),
    ("concurrency: 4", "concurrency: 0", "bad-value"),
    ("concurrency: 4", "tls: {key: a.pem}", "tls-incomplete"),
    ("concurrency: 4", "sign: {secrets: erp}", "exactly-one"),
    ("concurrency: 4", "sign: {scheme: standard-webhooks, secrets: []}", "sign-incomplete"),
    ("  shop: {id", "  all: {id", "bad-name"),
    ("8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54", "8c1f0e7a/5b6d4c3e", "bad-endpoint-id"),
    ("id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, ", "", "no-address"),
    ("id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54", "paths: []", "no-address"),
    ("id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54", "paths: [hooks/shop]", "bad-path"),
    ("provider: shopify, ", "", "missing-key"),
    ("secrets: shop, body", "body", "nothing-verified"),
    ("secrets: shop, body", "verify: none, secrets: shop, body", "verify-conflict"),
    ("2MiB", "2MB", "bad-value"),
    ("2MiB", "0MiB", "bad-value"),
    ("- id: paid", "- id: Paid orders", "bad-name"),
    ("- id: paid\n    from", "- from", "missing-key"),
    ("    from: shop\n", "    from: []\n", "never-matches"),
    ("events: [orders/paid]", "events: []", "never-matches"),
    ("events: [orders/paid]", "otherwise: true", "otherwise-with-match"),
    ("events: [orders/paid]", "mode: off", "unknown-value"),
    ("[def.total >= var.limit, any: [payload.confirmed]]", "[]", "empty-match"),
    ("any: [payload.confirmed]", "any: []", "never-matches"),
    ("any: [payload.confirmed]", "{any: [payload.a], not: payload.b}", "exactly-one"),
    ("group: payload.id, ", "", "missing-key"),
    ("limit: 2", "limit: 0", "bad-value"),
    ("{id: erp, http", "{id: the-erp, http", "bad-name"),
    ("{id: erp, http", "{id: erp, with: {a: 1}, http", "with-without-use"),
    ("{id: erp, http", "{id: erp, log: x, http", "action-kind"),
    ("shell: {argv: [bin/tell], env: {NAME: x}, timeout: 10s}", "when: payload.x", "action-kind"),
    ("{target: erp, m", "{target: erp, url: https://erp.example.net, m", "exactly-one"),
    ("{target: erp, m", "{m", "exactly-one"),
    ("{target: erp, m", "{url: https://erp.example.net, path: /x, m", "path-without-target"),
    ("{target: erp, m", "{url: ftp://erp.example.net, m", "bad-url"),
    ("method: PUT", "method: put", "unknown-value"),
    ("json: {a: 1}", "json: {a: 1}, text: x", "two-bodies"),
    ("json: {a: 1}", "headers: {X Key: x}", "bad-header"),
    ("[2xx, 409]", "[ok]", "bad-value"),
    ("timeout: 20s", "timeout: 20", "bad-value"),
    ("timeout: 20s", "timeout: 0s", "bad-value"),
    ("timeout: 20s", "timeout: 20 seconds", "bad-value"),
    ("argv: [bin/tell]", "argv: []", "bad-program"),
    ("argv: [bin/tell]", "argv: [bin/tell], script: bin/tell", "exactly-one"),
    ("argv: [bin/tell]", "argv: [bin/tell], interpreter: bash", "interpreter-without-script"),
    ("env: {NAME: x}", "env: {WEBHOOK_NAME: x}", "bad-variable"),
    ("env: {NAME: x}", "pass_env: [A-B]", "bad-variable"),
    ("retries: {gentle:", "retries: {standard:", "built-in-name"),
    ("{schedule: [1m], jitter: 0.2}", "standard", "wrong-type"),
    ("{schedule: [1m], jitter: 0.2}", "{jitter: 0.2}", "missing-key"),
    ("jitter: 0.2", "jitter: 2", "bad-value"),
    ("send: {endpoint: shop, ", "send: {", "missing-key"),
    ("event: orders/paid}", "event: orders/*}", "bad-step"),
    ("event: orders/paid}", "event: orders/paid, every: 1m}", "bad-step"),
    ("event: orders/paid}", "event: orders/paid, advance: 1m}", "bad-step"),
    ("{status: 200}", "{}", "bad-expectation"),
    ("define:", "actions: {tell: {id: tell, log: x}}\ndefine:", "not-shared"),
]  # fmt: skip


def test_the_file_that_is_changed_is_right() -> None:
    assert not [
        d for d in load(RIGHT, path="rules.yaml", env={}).diagnostics if d.severity == "error"
    ]
    VALIDATOR.validate(document(RIGHT))


@pytest.mark.parametrize(("old", "new", "code"), WRONG)
def test_both_refuse_it(old: str, new: str, code: str) -> None:
    assert RIGHT.count(old) == 1
    text = RIGHT.replace(old, new)
    assert code in {
        d.code for d in load(text, path="rules.yaml", env={}).diagnostics if d.severity == "error"
    }
    assert not VALIDATOR.is_valid(document(text))


STRUCTURAL = [
    *("action-kind", "bad-address", "bad-endpoint-id", "bad-expectation", "bad-name", "bad-path"),
    *("bad-step", "bad-store", "bad-url", "bad-value", "bad-variable"),
    *("built-in-name", "empty-match", "exactly-one", "interpreter-without-script", "missing-key"),
    *("never-matches", "no-actions", "no-address", "not-available", "not-shared"),
    *("nothing-verified", "otherwise-with-match", "path-without-target", "sign-incomplete"),
    *("tls-incomplete", "two-bodies", "unknown-key", "unknown-value", "unknown-version"),
    *("verify-conflict", "with-without-use", "wrong-type"),
]


@pytest.mark.parametrize("code", STRUCTURAL)
def test_the_file_that_shows_a_structural_code_is_refused(code: str) -> None:
    bad = (CODES_FOLDER / code / "bad.yaml").read_text("utf-8")
    assert not VALIDATOR.is_valid(document(bad))


def _wrong_files() -> Iterator[Any]:
    """Those that are YAML at all."""
    golden = ROOT / "tests" / "golden"
    for path in sorted([*golden.glob("codes/*/bad.yaml"), *golden.glob("err/*.yaml")]):
        with suppress(AssertionError, UnicodeDecodeError):
            text = path.read_text("utf-8")
            name = f"{path.parent.name}-{path.stem}"
            yield pytest.param(path, text, document(text), id=name)


@pytest.mark.parametrize(("path", "text", "plain"), list(_wrong_files()))
def test_it_refuses_nothing_that_check_takes(path: Path, text: str, plain: Any) -> None:
    found = load(text, path=str(path), env={}).diagnostics
    assert VALIDATOR.is_valid(plain) or any(d.severity == "error" for d in found)


def test_a_file_of_tests_is_held_to_its_own_schema() -> None:
    validator = jsonschema.Draft7Validator(schema_of_tests(providers.builtin()))
    right = "version: 1\ntests: {name: a, send: {endpoint: e, event: x}, expect: {status: 200}}\n"
    validator.validate(document(right))
    for old, new in (("status: 200", ""), ("version: 1", "version: 2"), ("event: x", "again: no")):
        assert not validator.is_valid(document(right.replace(old, new)))


# -- what editors show


def _keys() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name, made in [("File", SCHEMA), *SCHEMA["definitions"].items()]:
        for mapping in (made, *made.get("anyOf", ())):
            properties = mapping.get("properties", {})
            found += [(f"{name}.{key}", value) for key, value in properties.items()]
    return found


KEYS = _keys()


def test_every_key_is_described() -> None:
    assert len(KEYS) > 200
    assert [name for name, made in KEYS if not made.get("description")] == []


@pytest.mark.parametrize(("name", "made"), KEYS, ids=[name for name, _ in KEYS])
def test_an_example_is_right(name: str, made: dict[str, Any]) -> None:
    shown = r'"(enum|\$ref|examples)"|"type": "(boolean|integer)"'
    of_kinds = name.startswith(("Reply.", "Call."))  # what a kind of action answers, and is asked
    assert of_kinds or re.search(shown, json.dumps(made))
    for example in made.get("examples", ()):
        jsonschema.Draft7Validator({**made, "definitions": SCHEMA["definitions"]}).validate(example)
