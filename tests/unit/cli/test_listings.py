"""The commands that need no store: addresses, providers, new, rules."""

import json
import re
from pathlib import Path

import pytest

from router.providers import builtin
from tests.unit.cli.conftest import EXAMPLE, Router

ONE = (
    "endpoints: {e: {id: e-0123456789abcdef0, provider: github, verify: none}}\n"
    "rules: [{id: a, from: e, actions: {log: hi}}]\n"
)


def test_addresses_give_whole_urls(router: Router, rules: Path) -> None:
    ran = router("addresses", "-f", rules)
    assert ran.code == 0
    header, *rows = ran.out.splitlines()
    assert header.split() == ["ENDPOINT", "PROVIDER", "URL"]
    assert rows[0].split() == ["shop", "Shopify", "http://127.0.0.1:8000/wh_shop-0123456789abcdef"]


@pytest.mark.parametrize(
    ("said", "noted"),
    [
        (
            "",
            "http://127.0.0.1:8000 is this machine only: no sender can reach it; set `server.base",
        ),
        ("{base_url: 'http://hooks.example.com'}", "is not https: many senders refuse it; set"),
        ("{base_url: 'https://hooks.example.com'}", None),
        ("{listen: '0.0.0.0:9000'}", "http://127.0.0.1:9000 is this machine only: no sender can"),
    ],
)
def test_addresses_that_no_sender_could_call_are_called_so(
    router: Router, tmp_path: Path, said: str, noted: str | None
) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(f"version: 1\nserver: {said or '{}'}\n{ONE}", "utf-8")
    for also in ([], ["e"], ["--settings"]):
        err = router("addresses", *also, "-f", path).err
        assert noted in err if noted else err == ""
    for quiet in ("--json", "--dev"):
        assert "machine only" not in router("addresses", quiet, "-f", path).err


def test_addresses_in_json_are_one_list(router: Router) -> None:
    listed = json.loads(router("addresses", "-f", EXAMPLE, "--json").out)
    assert {"endpoint", "provider", "url"} == set(listed[0])
    privacy = [row["url"] for row in listed if row["endpoint"] == "privacy"]
    assert len(privacy) == 3
    assert privacy[0].endswith("/webhooks/customers/redact")


def test_a_base_url_with_a_path_is_not_doubled(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(
        f"version: 1\nserver: {{base_url: 'https://hooks.example.com/in'}}\n{ONE}", "utf-8"
    )
    assert json.loads(router("addresses", "-f", path, "--json").out)[0]["url"] == (
        "https://hooks.example.com/in/wh_e-0123456789abcdef0"
    )


def test_new_endpoint_is_128_bits_and_new_each_time(router: Router) -> None:
    first, second = router("new", "endpoint").out, router("new", "endpoint").out
    assert re.fullmatch(r"id: [0-9a-f]{32}\n", first)
    assert first != second
    assert set(json.loads(router("new", "endpoint", "--json").out)) == {"id", "path"}


def test_other_new_things_are_refused_by_name(router: Router) -> None:
    assert router("new", "car").code == 2
    assert "`router new -h` lists" in router("new", "car").err


def test_providers_lists_each_once_with_its_names(router: Router) -> None:
    ran = router("providers")
    shown = [line.split("  ")[0] for line in ran.out.splitlines()[1:]]
    assert {"gitea = forgejo = gogs", "github = code-host"} <= set(shown)
    assert sorted(name for names in shown for name in names.split(" = ")) == sorted(builtin())
    assert len(json.loads(router("providers", "--json").out)) == len(shown)


def test_providers_keep_to_the_width_of_a_line(router: Router) -> None:
    """Whole proofs, and where the facts of a sender are from, stand in the list of one."""
    shown = router("providers").out.splitlines()
    assert max(map(len, shown)) < 220
    assert any("…" in line for line in shown if line.startswith("adyen"))
    whole = router("providers", "adyen").out
    assert "{json:NotificationRequestItem.success}" in whole
    assert "\nsource     https://docs.adyen.com/" in whole
    assert json.loads(router("providers", "line", "--json").out)["oracle"] == "vector"


def test_providers_of_the_rules_file_are_listed_too(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "version: 1\nsecrets: {s: {env: S}}\n"
        "providers: {acme: {label: Acme, verify: {scheme: token, query: key}}}\n"
        "endpoints: {e: {paths: /e, provider: acme, secrets: s}}\n"
        "rules: [{id: a, from: e, actions: {log: hi}}]\n",
        "utf-8",
    )
    assert router("providers", "-f", path).out.splitlines()[-1].startswith("acme")
    shown = router("providers", "-f", path, "acme").out
    assert "token in query key" in shown
    assert "always `unknown`" in shown
    path.write_text("version: 1\nrules: 5\n", "utf-8")
    ran = router("providers", "-f", path)
    assert "acme" not in ran.out
    assert "has errors" in ran.err


def test_one_provider_tells_headers_limits_and_events(router: Router) -> None:
    ran = router("providers", "sendgrid")
    assert ran.code == 0
    assert "X-Twilio-Email-Event-Webhook-Signature or" in ran.out
    assert "1000 events a delivery" in ran.out
    assert "answered with 200 soon" in ran.out
    assert "403 when the signature does not match" in ran.out
    assert re.search(r"^Delivery +bounce ", ran.out, re.MULTILINE)
    assert json.loads(router("providers", "github", "--json").out)["name"] == "code-host"


def test_a_provider_tells_what_it_expects_of_us(router: Router) -> None:
    assert "POST answered with 200 within 5s; 401 when" in router("providers", "shopify").out
    reported = json.loads(router("providers", "shopify", "--json").out)
    assert reported["expects"].startswith("POST answered with 200 within 5s")
    assert "at most 1,000 webhooks an app, made at most 4 a second" in reported["notes"]


def test_a_provider_tells_which_events_and_samples_are_assumed(router: Router) -> None:
    lines = [re.split(r"  +", line) for line in router("providers", "github").out.splitlines()]
    assert ["Repository", "push", "-", "as shown"] in lines
    assert ["Set-up and dispatch", "repository_dispatch*", "-", "assumed*"] in lines
    (issues,) = [line for line in lines if line[1:2] == ["issues"]]
    assert issues[2].startswith("opened, closed, labeled, ")
    assert ", reopened*, edited*" in issues[2]
    assert ["Others", "milestone", "closed, created, deleted, edited, opened", "assumed*"] in lines
    reported = json.loads(router("providers", "shopify", "--json").out)["events"]
    assumed = {event["name"]: event["payload_assumed"] for event in reported}
    assert (assumed["orders/create"], assumed["orders/paid"]) == (False, True)


def test_an_unknown_provider_is_answered_with_the_nearest(router: Router) -> None:
    ran = router("providers", "shopfy")
    assert ran == (1, "", "router: no provider 'shopfy'; did you mean 'shopify'?\n")


def test_rules_without_a_store_are_listed_without_jobs(router: Router, rules: Path) -> None:
    ran = router("rules", "-f", rules)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[1].split() == ["paid", "live", "shop", "orders/paid", "log", "-"]
    assert json.loads(router("rules", "-f", rules, "--json").out)[1]["from"] == ["code", "open"]


def test_listings_before_anything_was_received_are_empty(router: Router, rules: Path) -> None:
    for command in ("deliveries", "dead"):
        ran = router(command, "-f", rules, "--json")
        assert (ran.code, json.loads(ran.out)) == (0, [])
        assert "nothing has been received yet" in ran.err


def test_showing_an_unknown_id_says_where_ids_are(router: Router, rules: Path) -> None:
    ran = router("show", "dlv_01ABCDEFGH", "-f", rules)
    assert ran.code == 1
    assert "`router deliveries` lists ids" in ran.err


SENDERS = """\
version: 1
server: {base_url: "https://hooks.example.com"}
secrets: {hub: {env: HUB_SECRET}, mail: {file: mail.pem}, pay: {env: PAY_SECRET}, old: {env: OLD}}
endpoints:
  code: {id: code-0123456789abcdef, provider: github, secrets: [hub, old]}
  mail: {id: mail-0123456789abcdef, provider: sendgrid, secrets: mail}
  shop: {paths: [/in/orders, /in/rest], provider: shopify, secrets: pay}
  own: {id: own-0123456789abcdef0, provider: hmac, secrets: pay, verify: {header: X-S}}
  open: {id: open-0123456789abcdef, provider: none, verify: none}
rules:
  - {id: code, from: code, events: [push, workflow_run.completed], actions: {log: hi}}
  - {id: mail, from: mail, events: bounce, actions: {log: hi}}
  - {id: shop, from: [shop, own], actions: {log: hi}}
"""


def test_what_to_enter_at_a_sender(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(SENDERS, "utf-8")
    assert router("addresses", "code", "-f", path).out == (
        "code: GitHub\n"
        "  url          https://hooks.example.com/wh_code-0123456789abcdef\n"
        "  content type application/json\n"
        "  secret       a long random text: the same one in the webhook's settings\n"
        "  put it into  the variable HUB_SECRET (secrets.hub)\n"
        "  put it into  the variable OLD (secrets.old)\n"
        "  events       Pushes (push)\n"
        "  events       Workflow runs (workflow_run)\n"
    )
    found = json.loads(router("addresses", "--settings", "-f", path, "--json").out)
    assert found["mail"]["secret"].startswith("the verification key")
    assert found["mail"]["secret_in"] == [f"the file {tmp_path / 'mail.pem'} (secrets.mail)"]
    assert found["shop"]["url"] == [f"https://hooks.example.com/in/{n}" for n in ("orders", "rest")]
    assert found["shop"]["remarks"] == [
        "all events: rule shop names none",
        "`router subscriptions create shop --from-rules` subscribes to them by the sender's API",
    ]
    assert found["own"]["secret"] == "a long random text: the same here and at the sender"
    assert (found["open"]["secret"], found["open"]["secret_in"]) == (None, [])
    assert found["open"]["remarks"] == ["no rule wants any event of it yet"]
    whole = router("addresses", "--settings", "-f", path).out
    assert "\n\nopen: " in whole
    assert "secret       none: everybody is let in" in whole


def test_a_sender_of_several_secrets_says_which(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(SENDERS.replace("provider: github", "provider: box"), "utf-8")
    found = json.loads(router("addresses", "code", "-f", path, "--json").out)
    assert found["code"]["secret"].startswith("the primary and the secondary signature key")


def test_settings_of_an_endpoint_that_is_not_there(router: Router, rules: Path) -> None:
    ran = router("addresses", "shp", "-f", rules)
    assert (ran.code, "did you mean 'shop'" in ran.err) == (2, True)


def test_every_sender_can_be_told_what_to_enter(router: Router, tmp_path: Path) -> None:
    """By its definition alone; a new kind of body or proof is not forgotten here."""
    path = tmp_path / "r.yaml"
    names = sorted(
        {
            provider.aliases[0] if provider.aliases else provider.name
            for provider in builtin().values()
        }
    )
    lines = [
        f"  e{n}: {{id: endpoint-{n:08}, provider: {name}, verify: none}}"
        for n, name in enumerate(names)
    ]
    path.write_text("\n".join(["version: 1", "endpoints:", *lines, ""]), "utf-8")
    ran = router("addresses", "--settings", "-f", path, "--json")
    assert len(json.loads(ran.out)) == len(names)
