"""`router doctor` without a server: the check-up of the file, and requests from files."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from router.cli.doctor_online import of_addresses
from router.cli.options import Options
from router.providers import builtin
from tests.acceptance.process import free_ports
from tests.captured import as_json
from tests.unit.cli.conftest import Router
from tests.unit.providers.makers import a_delivery, changed, invented

SHOP = builtin()["shopify"]
KEY = b"s" * 32


def verdicts(router: Router, rules: Path, *args: str) -> dict[tuple[str | None, str], Any]:
    """Each check by endpoint and name."""
    ran = router("doctor", "-f", rules, "--offline", "--json", *args)
    answer = json.loads(ran.out)
    bad = [c for c in answer["checks"] if c["verdict"] == "problem"]
    assert answer["problems"] == len(bad)
    assert ran.code == (1 if bad else 0)
    assert all(check["fix"] for check in bad)
    return {(c["endpoint"], c["name"]): c for c in answer["checks"]}


def edited(rules: Path, old: str, new: str) -> Path:
    text = rules.read_text("utf-8")
    assert old in text
    rules.write_text(text.replace(old, new, 1), "utf-8")
    return rules


GOLDEN = """\
{rules}
  ok           file         no errors
  problem      base_url     http://{listen} is this machine only: no sender can reach it
                            → set `server.base_url` to the public https address \
(of a proxy or a tunnel)
  not checked  server       --offline makes no calls
                            → leave --offline out
endpoint shop
  ok           secret shop  SHOP_SECRET is set and usable
  ok           events       select at the sender: orders/paid
  not checked  api_version  no version is pinned, so a change of payloads is not noticed
                            → write `api_version: 2024-01`
1 problem, 3 ok, 2 not checked
"""


def test_words_for_people(router: Router, rules: Path) -> None:
    ran = router("doctor", "shop", "-f", rules, "--offline")
    assert ran.code == 1
    assert ran.out == GOLDEN.format(rules=rules, listen=os.environ["ROUTER_LISTEN"])


def test_a_port_that_the_router_does_not_have(rules: Path) -> None:
    port, other = free_ports(2)
    text = f"server: {{listen: '127.0.0.1:{port}', base_url: 'http://127.0.0.1:{other}'}}\n"
    edited(rules, "version: 1\n", f"version: 1\n{text}")
    loaded = Options(rules=rules).loaded().ruleset
    assert loaded is not None
    found = asyncio.run(of_addresses(loaded, [loaded.endpoints["shop"]]))
    fix = f"this router listens on port {port}: leave `server.base_url` out, or mend it"
    assert [check.fix for check in found["shop"]] == [fix]


def test_all_is_well(router: Router, rules: Path) -> None:
    edited(rules, "version: 1\n", "version: 1\nserver: {base_url: 'https://hooks.example.com'}\n")
    edited(rules, "secrets: shop}", "secrets: shop, api_version: 2024-01}")
    found = verdicts(router, rules, "shop")
    assert {c["verdict"] for c in found.values()} == {"ok", "not checked"}
    assert found["shop", "api_version"]["verdict"] == "ok"


@pytest.mark.parametrize(
    ("url", "verdict", "words"),
    [
        ("https://hooks.example.com", "ok", "public https"),
        ("https://hooks.example.com/in", "ok", "its path /in"),
        ("http://hooks.example.com", "problem", "not https"),
        ("https://localhost", "problem", "this machine only"),
        ("https://127.0.0.1", "problem", "this machine only"),
        ("https://10.0.0.7", "problem", "private address"),
        ("https://[fd00::1]", "problem", "private address"),
        ("https://hooks", "problem", "private network"),
        ("https://hooks.corp.internal", "problem", "private network"),
    ],
)
def test_what_senders_are_given(
    router: Router, rules: Path, url: str, verdict: str, words: str
) -> None:
    edited(rules, "version: 1\n", f"version: 1\nserver: {{base_url: '{url}'}}\n")
    check = verdicts(router, rules, "shop")[None, "base_url"]
    assert check["verdict"] == verdict
    assert words in check["says"]


def test_a_wrong_file_is_reported_and_nothing_more(router: Router, rules: Path) -> None:
    edited(rules, "from: shop", "form: shop")
    found = verdicts(router, rules)
    assert list(found) == [(None, "file")]
    assert "router check" in found[None, "file"]["fix"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "is not set"),
        ("", "is empty"),
        ("short", "shorter than 16 bytes"),
        ('"' + "s" * 32 + '"', "quote"),
        ("s" * 32 + "\n", "white space"),
        ("s" * 32 + "\\n", "written `\\n`"),
        ("SHOP_SECRET=" + "s" * 32, "its own name"),
        ("\ufeff" + "s" * 32, "byte order mark"),
        ("-----BEGIN PUBLIC KEY-----", "key of a pair"),
        ("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC", "an SSH key: a key of a pair"),
        ('{"keys": [{"kty": "RSA", "n": "eA", "e": "AQAB"}]}', "a JSON key (JWK)"),
    ],
)
def test_slips_of_a_secret(
    router: Router, rules: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, words: str
) -> None:
    if value is None:
        monkeypatch.delenv("SHOP_SECRET")
    else:
        monkeypatch.setenv("SHOP_SECRET", value)
    check = verdicts(router, rules, "shop")["shop", "secret shop"]
    assert check["verdict"] == "problem"
    assert words in check["says"]
    assert "s" * 32 not in json.dumps(check)


def test_dev_needs_no_set_up(router: Router, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_SECRET")
    found = verdicts(router, rules, "shop", "--dev")
    assert found[None, "base_url"]["verdict"] == "not checked"
    assert "--dev invents one" in found["shop", "secret shop"]["says"]


def test_what_is_left_of_development_does_not_stand_for_a_secret(
    router: Router, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`serve` would not start: nothing invents secrets for it."""
    monkeypatch.delenv("SHOP_SECRET")
    (rules.parent / "router-dev.db").touch()
    found = verdicts(router, rules, "shop")
    assert found["shop", "secret shop"]["verdict"] == "problem"
    assert found[None, "base_url"]["verdict"] == "problem"


def test_keys_in_a_file(router: Router, rules: Path) -> None:
    mail = builtin()["sendgrid"]
    pem, file = invented(mail).verify, rules.parent / "mail.pem"
    for content, verdict, words in (
        (pem, "ok", "usable"),
        (pem.replace(b"\n", b" "), "ok", "lost its line breaks; mended"),
        (pem.replace(b"\n", b"\\n"), "ok", "lost its line breaks; mended"),
        (b"".join(pem.splitlines()[1:-1]), "ok", "usable"),
        (pem.splitlines()[0], "problem", "PEM has no end"),
        (invented(mail).sign, "problem", "private key"),
        (b"", "problem", "is empty"),
    ):
        file.write_bytes(content)
        check = verdicts(router, rules, "mail")["mail", "secret mail"]
        assert (check["verdict"], words in check["says"]) == (verdict, True), check
    file.write_bytes(pem.splitlines()[0])
    assert "line breaks" in verdicts(router, rules, "mail")["mail", "secret mail"]["fix"]


def test_a_day_that_has_passed(router: Router, rules: Path) -> None:
    edited(rules, "shop: {env: SHOP_SECRET}", "shop: {env: SHOP_SECRET, until: 2020-01-01}")
    found = verdicts(router, rules, "shop")
    assert found["shop", "secret shop"]["verdict"] == "ok"
    assert "all deliveries are refused" in found["shop", "secrets"]["says"]


def test_events_that_the_sender_does_not_have(router: Router, rules: Path) -> None:
    edited(rules, "events: orders/paid", "events: [orders/paid, 'odd/*', carts/emptied]")
    ran = router("doctor", "shop", "-f", rules, "--offline", "--json")
    said = [c["says"] for c in json.loads(ran.out)["checks"] if c["name"] == "events"]
    assert len(said) == 3
    assert "'odd/*'" in said[0]
    assert "carts/emptied" in said[1]


def test_an_event_that_users_name_is_to_be_selected(router: Router, rules: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "providers" / "slack.md").read_text("utf-8")
    rules.write_text(page.partition("```yaml\n")[2].partition("```")[0], "utf-8")
    ran = router("doctor", "chat", "-f", rules, "--offline", "--json")
    said = [c["says"] for c in json.loads(ran.out)["checks"] if c["name"] == "events"]
    assert said == ["select at the sender: /deploy"]


def selected(router: Router, rules: Path, endpoint: str) -> str:
    says: str = verdicts(router, rules, endpoint)[endpoint, "events"]["says"]
    return says


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ("push", "Pushes (push)"),
        ("[push, workflow_run.completed]", "Pushes (push), Workflow runs (workflow_run)"),
        ("'workflow_run.*'", "Workflow runs (workflow_run)"),
        ("issues.pinned", "Issues (issues)"),
        (
            "'workflow_*'",
            "Workflow runs (workflow_run), Workflow jobs (workflow_job), workflow_dispatch",
        ),
        ("[create, ping]", "Branch or tag creation (create), sent by itself (ping)"),
    ],
)
def test_every_event_to_select_in_the_words_of_the_sender(
    router: Router, rules: Path, events: str, words: str
) -> None:
    edited(rules, "from: [code, open], events: push", f"from: [code, open], events: {events}")
    assert selected(router, rules, "code") == f"select at the sender: {words}"


def test_all_of_many_events_to_select(router: Router, rules: Path) -> None:
    edited(rules, "events: orders/paid", "events: ['orders/*', 'products/*', 'customers/*']")
    families = ("orders/", "products/", "customers/")
    names = [e.name for family in families for e in SHOP.events if e.name.startswith(family)]
    assert len(names) > 12
    assert selected(router, rules, "shop") == f"select at the sender: {', '.join(names)}"


@pytest.mark.parametrize(
    ("of_rule", "words"),
    [
        ("events: '*'", "select every event at the sender: rule paid wants them all"),
        ("mode: live", "select every event at the sender: rule paid wants them all"),
        ("otherwise: true", "rule paid is to get: no rule names an event"),
    ],
)
def test_rules_that_name_no_event(router: Router, rules: Path, of_rule: str, words: str) -> None:
    edited(rules, "events: orders/paid", of_rule)
    assert words in selected(router, rules, "shop")


def test_an_address_that_is_for_one_event_is_to_get_that_one(router: Router, rules: Path) -> None:
    edited(rules, "{id: shop-0123456789abcdef,", "{paths: [/in/shop/redact, /in/orders/paid],")
    edited(rules, "events: orders/paid, ", "")
    assert selected(router, rules, "shop") == "select at the sender: orders/paid, shop/redact"


def test_a_rule_for_two_senders_wants_of_each_what_it_has(router: Router, rules: Path) -> None:
    edited(
        rules, "from: shop, events: orders/paid", "from: [shop, code], events: [orders/paid, fork]"
    )
    assert selected(router, rules, "shop") == "select at the sender: orders/paid"
    assert selected(router, rules, "code") == "select at the sender: Forks (fork), Pushes (push)"


def test_an_endpoint_that_no_rule_wants(router: Router, rules: Path) -> None:
    edited(rules, "id: pushes, from: [code, open]", "id: pushes, from: code")
    check = verdicts(router, rules, "open")["open", "events"]
    assert check["verdict"] == "problem"


def test_addresses_behind_a_proxy_that_nobody_trusts(router: Router, rules: Path) -> None:
    edited(rules, "secrets: hub}", "secrets: hub, allow_from: provider}")
    edited(rules, "version: 1\n", "version: 1\nserver: {base_url: 'https://hooks.example.com'}\n")
    assert verdicts(router, rules, "code")["code", "allow_from"]["verdict"] == "problem"
    edited(rules, "example.com'", "example.com', trusted_proxies: [10.0.0.0/8]")
    assert verdicts(router, rules, "code")["code", "allow_from"]["verdict"] == "ok"


# -- one request ----------------------------------------------------------------------------------


def captured(tmp_path: Path, **fields: Any) -> Path:
    request = a_delivery(SHOP, body=b'{"id":1,"note":"a/b"}', key=KEY)
    request = changed(request, raw_path=b"/wh_shop-0123456789abcdef", **fields)
    file = tmp_path / "request.json"
    file.write_text(json.dumps(as_json(request)), "utf-8")
    return file


def causes(router: Router, rules: Path, *args: str | Path) -> list[str]:
    ran = router("doctor", "-f", rules, "--json", *args)
    found = json.loads(ran.out)["findings"]
    assert ran.code == (0 if [f["code"] for f in found] == ["genuine"] else 1)
    assert KEY.decode() not in ran.out
    return [f["code"] for f in found]


def test_a_request_that_is_right(router: Router, rules: Path, tmp_path: Path) -> None:
    assert causes(router, rules, "--request", captured(tmp_path)) == ["genuine"]


def test_json_has_the_time_of_a_request_as_people_read_it(
    router: Router, rules: Path, tmp_path: Path
) -> None:
    file = captured(tmp_path, received_at=1_760_000_000_000)
    found = json.loads(router("doctor", "-f", rules, "--json", "--request", file).out)
    assert found["at"] == "2025-10-09T08:53:20.000Z"


def test_a_body_that_was_parsed(router: Router, rules: Path, tmp_path: Path) -> None:
    file = captured(tmp_path, body=b'{"id": 1, "note": "a/b"}')
    assert causes(router, rules, "--request", file) == ["body_parsed"]
    ran = router("doctor", "shop", "-f", rules, "--request", file)
    assert ran.out == (
        "request of 2024-01-15T09:50:00Z to endpoint shop (/wh_shop-0123456789abcdef, "
        "24 bytes of body)\n"
        "  found    body_parsed: the body was parsed and serialized again on its way: the "
        "signature fits the body as compact JSON\n"
        "           → a proxy, function or framework before the router parses the JSON: hand the "
        "bytes on exactly as they came: no body parser, no rewriting in between\n"
    )


def test_the_text_of_a_request(router: Router, rules: Path, tmp_path: Path) -> None:
    request = a_delivery(SHOP, body=b'{"id":1}', key=KEY)
    lines = [b"POST /wh_shop-0123456789abcdef HTTP/1.1", b"Content-Length: 8"]
    lines += [n + b": " + v for n, v in request.headers]
    file = tmp_path / "request.txt"
    file.write_bytes(b"\r\n".join(lines) + b"\r\n\r\n" + b'{"id":1}\n')
    assert causes(router, rules, "--request", file) == ["body_longer"]
    file.write_bytes(b"\r\n".join(lines) + b"\r\n\r\n" + b'{"id":1}')
    assert causes(router, rules, "--request", file) == ["genuine"]


def test_the_secret_of_a_neighbour_or_of_nobody(
    router: Router, rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = captured(tmp_path)
    monkeypatch.setenv("SHOP_SECRET", "n" * 32)
    assert causes(router, rules, "--request", file) == ["secret_wrong"]
    monkeypatch.setenv("OTHER", KEY.decode())
    assert causes(router, rules, "--request", file, "--secret-env", "OTHER") == ["secret_other"]
    given = tmp_path / "secret.txt"
    given.write_bytes(KEY + b"\n")
    assert causes(router, rules, "--request", file, "--secret-file", given) == ["secret_other"]
    monkeypatch.setenv("HUB_SECRET", KEY.decode())
    assert causes(router, rules, "--request", file) == ["secret_swapped"]


def test_a_secret_that_is_not_set(
    router: Router, rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHOP_SECRET")
    assert causes(router, rules, "--request", captured(tmp_path))[0] == "no_secret"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("shopp",), "did you mean 'shop'"),
        (("--refused", "last", "--request", "x"), "give one"),
        (("--offline", "--refused", "last"), "leave it out"),
        (("--secret-env", "X"), "needs a request"),
        (("--request", "not-there"), "cannot read"),
    ],
)
def test_wrong_words_name_the_fix(
    router: Router, rules: Path, args: tuple[str, ...], words: str
) -> None:
    ran = router("doctor", *args, "-f", rules)
    assert ran.code == 2
    assert words in ran.err


def test_a_request_for_nobody_in_particular(router: Router, rules: Path, tmp_path: Path) -> None:
    file = captured(tmp_path)
    data = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**data, "path": "/elsewhere"}), "utf-8")
    ran = router("doctor", "-f", rules, "--request", file)
    assert ran.code == 2
    assert "name the endpoint" in ran.err
    assert causes(router, rules, "shop", "--request", file) == ["genuine"]


def test_without_a_server_nothing_is_kept(router: Router, rules: Path) -> None:
    ran = router("doctor", "-f", rules, "--refused", "last", "--admin", "127.0.0.1:1")
    assert ran.code == 1
    assert "no server runs" in ran.err


def test_a_database_that_is_away_is_one_problem_among_others(router: Router, rules: Path) -> None:
    (port,) = free_ports(1)
    store = f"postgresql://router:hush-hush-hush@127.0.0.1:{port}/x"
    done = router("doctor", "-f", rules, "--store", store, "--json")
    assert done.code == 1, done.err
    checks = {one["name"]: one for one in json.loads(done.out)["checks"]}
    assert checks["database"]["verdict"] == "problem"
    assert checks["heard"]["verdict"] == "not checked"
    assert "base_url" in checks
    assert "hush" not in done.out + done.err
