"""`router subscriptions` against a real server that follows the interface."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from router.cli import subscription_plan
from router.model.subscription import Subscription
from router.providers import builtin
from router.wiring.rules import read_rules
from tests.acceptance.process import free_ports
from tests.api_server import TOKEN, Answer, ApiServer, api_server
from tests.unit.cli.conftest import Changes, Ran, Router

RULES = """\
version: 1
server: {base_url: "https://hooks.example.com", admin: "127.0.0.1:1"}
secrets:
  shop: {env: SHOP_SECRET}
  token: {env: SHOP_TOKEN}
  hub: {env: HUB_SECRET}
endpoints:
  shop:
    id: shop-0123456789abcdef
    paths: [/webhooks/customers/redact]
    provider: PROVIDER
    secrets: shop
    api: {base: {env: SHOP_BASE, default: "https://example-shop.test"}, token: token}
  other: {id: other-0123456789abcdef, provider: shopify, secrets: shop}
  code: {id: code-0123456789abcdef, provider: github, secrets: hub}
rules:
  - {id: paid, from: shop, events: [orders/paid, "customers/re*"], actions: {log: paid}}
  - {id: new, from: [shop, other], mode: shadow, events: orders/paid, actions: {log: new}}
  - {id: leftovers, from: shop, otherwise: true, actions: {log: rest}}
  - {id: other, from: other, events: orders/create, actions: {log: other}}
  - {id: pushes, from: code, events: push, actions: {log: push}}
"""
WH = "https://hooks.example.com/wh_shop-0123456789abcdef"


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with api_server() as server:
        yield server


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: ApiServer) -> Path:
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
    monkeypatch.setenv("OTHER_TOKEN", "another-token-altogether")
    monkeypatch.setenv("SHOP_BASE", api.url)
    path = tmp_path / "rules.yaml"
    admin = f"127.0.0.1:{free_ports(1)[0]}"
    text = RULES.replace("PROVIDER", "shopify").replace("127.0.0.1:1", admin)
    path.write_text(text, "utf-8")
    return path


class Subscriptions:
    """The command, about the endpoint `shop` of these rules."""

    def __init__(self, router: Router, rules: Path) -> None:
        self._router, self._rules = router, rules

    def __call__(self, verb: str, *args: str, endpoint: str = "shop") -> Ran:
        return self._router("subscriptions", verb, endpoint, *args, "-f", self._rules)

    def json(self, verb: str, *args: str) -> Any:
        return json.loads(self(verb, *args, "--json").out)

    def plan(self, *args: str, endpoint: str = "shop") -> dict[str, str]:
        ran = self("create", *args, "--dry-run", "--json", endpoint=endpoint)
        return {row["topic"]: row["do"] for row in json.loads(ran.out)["plan"]}


@pytest.fixture
def subscriptions(router: Router, rules: Path, changes: Changes) -> Subscriptions:
    return Subscriptions(changes(router, rules), rules)


def test_the_plan_is_shown_and_nothing_asked(subscriptions: Subscriptions, api: ApiServer) -> None:
    ran = subscriptions("create", "--from-rules", "--dry-run")
    assert ran.code == 0
    assert f"shop at {api.url}, REST, version 2024-01" in ran.out
    assert [line.split() for line in ran.out.splitlines()[2:]] == [
        ["orders/paid", WH, "create"],
        ["customers/redact", "https://hooks.example.com/webhooks/customers/redact", "create"],
        ["2", "subscriptions", "to", "create"],
    ]
    assert api.asked == []


@pytest.mark.long
def test_what_was_made_is_not_made_again(subscriptions: Subscriptions, api: ApiServer) -> None:
    first = subscriptions("create", "--from-rules", "--yes")
    assert (first.code, first.out.splitlines()[-1]) == (0, "2 subscriptions created")
    assert len(api.made) == 2
    again = subscriptions("create", "--from-rules", "--yes")
    assert (again.code, again.out.splitlines()[-1]) == (0, "0 subscriptions to create")
    assert subscriptions.plan("--from-rules", "--topic", "orders/create") == {
        "orders/create": "create",
        "orders/paid": "keep",
        "customers/redact": "keep",
    }
    assert len(api.asked) == 2
    listed = subscriptions.json("list")
    assert {(r["topic"], r["state"], r["id"]) for r in listed} == {
        ("orders/paid", "made", "1000"),
        ("customers/redact", "made", "1001"),
    }
    assert "orders/paid" in subscriptions("list").out
    assert subscriptions("list", endpoint="other").out.count("\n") == 1


@pytest.mark.long
def test_a_topic_that_the_token_may_not_have_is_said_before_it_is_asked_for(
    subscriptions: Subscriptions, api: ApiServer
) -> None:
    topics = ("--topic", "orders/paid", "--topic", "products/create", "--topic", "themes/update")
    assert set(subscriptions.plan(*topics).values()) == {"create"}  # nobody knows yet
    assert api.scopes_asked == 0
    ran = subscriptions("create", *topics, "--yes")
    assert ran.code == 1
    assert "the token may not: it needs the scope read_products" in ran.out
    assert "give the app the scope read_products or read_themes" in ran.err
    assert [asked.body["webhook"]["topic"] for asked in api.asked] == ["orders/paid"]
    assert subscriptions.plan(*topics) == {  # remembered: nothing is asked
        "orders/paid": "keep",
        "products/create": "forbidden",
        "themes/update": "forbidden",
    }
    assert api.scopes_asked == 1
    api.scopes = [{"handle": "write_products"}, {"handle": "read_themes"}]
    assert subscriptions("create", *topics, "--yes").code == 0
    assert len(api.made) == 3


@pytest.mark.long
@pytest.mark.parametrize("odd", [None, "x", [{"name": "read_orders"}], [5]])
def test_scopes_that_cannot_be_read_forbid_nothing(
    subscriptions: Subscriptions, api: ApiServer, odd: Any
) -> None:
    api.scopes = odd
    ran = subscriptions("create", "--topic", "themes/update", "--yes")
    assert ran.code == 0
    assert "the token's scopes are not known: the answer has no list of scopes" in ran.err


@pytest.mark.long
def test_again_asks_for_what_was_made(subscriptions: Subscriptions, api: ApiServer) -> None:
    subscriptions("create", "--topic", "orders/paid", "--yes")
    ran = subscriptions("create", "--topic", "orders/paid", "--yes", "--again")
    assert ran.code == 1
    assert "HTTP 422: address: for this topic has already been taken" in ran.out


def test_another_address_is_another_subscription(
    subscriptions: Subscriptions, rules: Path, api: ApiServer
) -> None:
    subscriptions("create", "--topic", "orders/paid", "--yes")
    rules.write_text(rules.read_text().replace("hooks.example.com", "hooks2.example.com"))
    assert subscriptions.plan("--topic", "orders/paid") == {"orders/paid": "create"}


@pytest.mark.long
@pytest.mark.parametrize("spelling", ["shopify", "commerce"])
def test_the_token_s_header_is_spelled_as_the_provider(
    subscriptions: Subscriptions, rules: Path, api: ApiServer, spelling: str
) -> None:
    rules.write_text(RULES.replace("PROVIDER", spelling), "utf-8")
    subscriptions("create", "--topic", "orders/paid", "--yes")
    assert api.asked[0].headers[f"x-{spelling}-access-token"] == TOKEN
    subscriptions("create", "--topic", "orders/create", "--yes", "--spelling", "commerce")
    assert api.asked[1].headers["x-commerce-access-token"] == TOKEN


def test_flags_stand_in_place_of_the_file(
    subscriptions: Subscriptions, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", TOKEN)
    args = ["--topic", "ORDERS_PAID", "--shop-base", f"{api.url}/", "--api-version", "2025-07"]
    args += ["--token-env", "MINE", "--graphql-path", "/gql/{api_version}.json", "--yes"]
    api.script.append(
        Answer(
            200,
            {"data": {"webhookSubscriptionCreate": {"webhookSubscription": {"id": "gid://x/5"}}}},
        )
    )
    ran = subscriptions("create", *args, endpoint="other")
    assert ran.code == 0
    assert api.asked[0].path == "/gql/2025-07.json"
    assert api.asked[0].body["variables"]["topic"] == "ORDERS_PAID"
    assert "gid://x/5" in ran.out


@pytest.mark.long
def test_rest_by_flag_where_the_file_says_graphql(
    subscriptions: Subscriptions, rules: Path, api: ApiServer
) -> None:
    rules.write_text(rules.read_text().replace("token: token}", "token: token, graphql: true}"))
    subscriptions("create", "--topic", "orders/paid", "--yes")
    subscriptions("create", "--topic", "orders/create", "--yes", "--rest")
    assert [a.path.rsplit("/", 1)[1] for a in api.asked] == ["graphql.json", "webhooks.json"]


@pytest.mark.long
def test_user_errors_field_by_field(subscriptions: Subscriptions, api: ApiServer) -> None:
    api.topics = {"ORDERS_CREATE"}
    args = ["--topic", "orders/paid", "--topic", "orders/create", "--graphql", "--yes"]
    ran = subscriptions("create", *args)
    assert ran.code == 1
    assert "topic: is not one you may subscribe to; webhookSubscription.callbackUrl:" in ran.out
    assert ran.out.splitlines()[-1] == "1 subscription created of 2"


@pytest.mark.long
def test_what_got_no_answer_is_unsure_until_somebody_looks(
    subscriptions: Subscriptions, api: ApiServer
) -> None:
    api.script.append("hang")
    args = ["--topic", "orders/paid", "--topic", "orders/create", "--yes", "--timeout", "0.2"]
    ran = subscriptions("create", *args)
    assert ran.code == 1
    assert [line.split()[:2] for line in ran.out.splitlines()[-3:-1]] == [
        ["orders/paid", "unsure"],
        ["orders/create", "not"],
    ]
    again = subscriptions("create", "--topic", "orders/paid", "--yes")
    assert again.code == 1
    assert "no answer ever came for orders/paid" in again.err
    assert len(api.asked) == 1
    assert subscriptions("create", "--topic", "orders/paid", "--yes", "--again").code == 0


@pytest.mark.long
def test_a_rate_limit_is_waited_out(subscriptions: Subscriptions, api: ApiServer) -> None:
    api.script.append(Answer(429, "", {"Retry-After": "0"}))
    assert subscriptions("create", "--topic", "orders/paid", "--yes").code == 0
    assert len(api.asked) == 2


@pytest.mark.long
@pytest.mark.parametrize("odd", ["close", "garbage", Answer(500, "oops"), Answer(401, TOKEN)])
def test_failures_in_plain_words_and_never_the_token(
    subscriptions: Subscriptions, api: ApiServer, odd: Any
) -> None:
    api.script.append(odd)
    ran = subscriptions("create", "--topic", "orders/paid", "--yes")
    assert ran.code == 1
    assert "Traceback" not in ran.err
    assert TOKEN not in ran.out + ran.err


def test_the_limit_of_an_app_is_kept(
    subscriptions: Subscriptions, rules: Path, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ruleset = read_rules(rules, environ={"SHOP_BASE": api.url}).ruleset
    assert ruleset is not None
    endpoint = ruleset.endpoints["shop"]
    rule = builtin()["shopify"].definition.api
    assert rule is not None
    access = subscription_plan.Access(rule, api.url, TOKEN)

    def known(count: int) -> dict[str, Subscription]:
        return {
            f"subscription/{n}": Subscription("shop", f"a/t{n}", WH, api.url, "made", 1)
            for n in range(count)
        }

    def plan(count: int) -> subscription_plan.SubscriptionPlan:
        way = subscription_plan.SubscriptionApi()
        topics = ["orders/paid", "orders/create"]
        return subscription_plan.planned(
            ruleset, endpoint, topics, access, way, known(count), again=False
        )

    assert len(plan(998).wanted) == 2
    with pytest.raises(
        subscription_plan.UsageError, match=r"1,001 subscriptions .* the 1,000 an app"
    ):
        plan(999)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "name topics with --topic, or use --from-rules or --all"),
        (["--topic", "orders"], "'orders' is not a topic; write one like orders/create"),
        (["--topic", "a/b"], "Not a terminal: pass --yes or --dry-run"),
        (["--topic", "a/b", "--api-version", "2024-13"], "--api-version is written YYYY-MM"),
        (["--topic", "a/b", "--shop-base", "shop"], "is not an address"),
        (["--topic", "a/b", "--token", "nope"], "--token names a secret of the rules file"),
        (["--topic", "a/b", "--token", "hub"], "environment variable HUB_SECRET is not set"),
        (["--topic", "a/b", "--token-env", "NOPE"], "environment variable NOPE is not set"),
        (["--topic", "a/b", "--token-env", "X", "--token", "x"], "both name a token"),
        (["--topic", "a/b", "--graphql-path", "x", "--dry-run"], "begins with a slash"),
    ],
)
def test_wrong_words_name_the_fix(
    subscriptions: Subscriptions, args: list[str], words: str
) -> None:
    ran = subscriptions("create", *args)
    assert ran.code == 2
    assert words in ran.err


@pytest.mark.parametrize(
    ("endpoint", "more", "words"),
    [
        ("code", [], "GitHub is subscribed to in its settings screen"),
        ("shpo", [], "did you mean 'shop'?"),
        ("other", [], "the API's address is unknown: add --shop-base"),
        (
            "other",
            ["--shop-base", "https://example-shop.test"],
            "no access token is named: add --token-env VARIABLE",
        ),
    ],
)
def test_endpoints_that_cannot_be_subscribed(
    subscriptions: Subscriptions, endpoint: str, more: list[str], words: str
) -> None:
    ran = subscriptions("create", "--topic", "a/b", "--yes", *more, endpoint=endpoint)
    assert ran.code == 2
    assert words in ran.err


def test_rules_without_events_want_a_plain_word(subscriptions: Subscriptions, rules: Path) -> None:
    rules.write_text(RULES.replace("PROVIDER", "shopify").replace("events: orders/paid, ", ""))
    ran = subscriptions("create", "--from-rules", "--dry-run")
    assert ran.code == 2
    assert "rule new names no events" in ran.err
    assert subscriptions.plan("--all").keys() == {e.name for e in builtin()["shopify"].events}
    assert "orders/create" in subscriptions.plan("--from-rules", "--topic", "orders/create")


def test_a_sender_far_away_cannot_reach_this_machine(
    subscriptions: Subscriptions, rules: Path
) -> None:
    rules.write_text(
        rules.read_text().replace("https://hooks.example.com", "http://localhost:8000")
    )
    base = ["--shop-base", "https://example-shop.test", "--token", "token"]
    ran = subscriptions("create", "--topic", "a/b", *base)
    assert ran.code == 2
    assert "the sender cannot reach http://localhost:8000" in ran.err


def test_the_token_of_an_endpoint_goes_to_its_own_api_alone(
    subscriptions: Subscriptions, api: ApiServer
) -> None:
    elsewhere = api.url.replace("127.0.0.1", "localhost")
    base = ["--topic", "orders/paid", "--shop-base", elsewhere]
    ran = subscriptions("create", *base, "--yes")
    assert ran.code == 2
    assert f"the token of endpoint shop is for {api.url}: name the one for {elsewhere}" in ran.err
    assert api.asked == []
    assert subscriptions("create", *base, "--yes", "--token", "token").code == 0


@pytest.mark.long
def test_asking_again_after_a_time_out_finds_it_made(
    subscriptions: Subscriptions, api: ApiServer
) -> None:
    again = ["--topic", "orders/paid", "--yes", "--again"]
    subscriptions("create", *again)
    api.script.append("hang")
    assert subscriptions("create", *again, "--timeout", "0.2").code == 1
    (record,) = subscriptions.json("list")
    assert (record["state"], record["id"]) == ("made", "1000")
    ran = subscriptions("create", *again)
    assert ran.code == 1
    assert "already been taken" in ran.out
    (record,) = subscriptions.json("list")
    assert (record["state"], record["id"]) == ("made", "1000")


@pytest.mark.long
def test_a_test_notification_by_topic_or_id(subscriptions: Subscriptions, api: ApiServer) -> None:
    subscriptions("create", "--topic", "orders/paid", "--yes")
    for what in ("orders/paid", "ORDERS_PAID", "1000"):
        assert subscriptions("test", what).code == 0
        assert api.asked[-1].path == "/admin/api/2024-01/webhooks/1000/notifications.json"
    assert subscriptions.json("test", "orders/paid")["sent"] is True


@pytest.mark.long
def test_a_test_notification_that_cannot_be_had(
    subscriptions: Subscriptions, api: ApiServer
) -> None:
    unknown = subscriptions("test", "orders/create")
    assert unknown.code == 1
    assert "`router subscriptions create shop --topic orders/create` makes one" in unknown.err
    refused = subscriptions("test", "77")
    assert (refused.code, refused.err) == (1, "router: the sender refused: HTTP 404: Not Found\n")
    api.script += [Answer(201, ""), "hang"]
    subscriptions("create", "--topic", "orders/paid", "--yes")
    assert "never gave the id" in subscriptions("test", "orders/paid").err
    slow = subscriptions("test", "77", "--timeout", "0.2")
    assert (slow.code, slow.err) == (1, "router: no answer within 0.2 s\n")


@pytest.mark.long
def test_whoever_is_asked_may_decline(
    subscriptions: Subscriptions, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Person(io.StringIO):
        def isatty(self) -> bool:
            return True

    for said, code, asked in (("n\n", 130, 0), ("y\n", 0, 1)):
        monkeypatch.setattr(sys, "stdin", Person(said))
        ran = subscriptions("create", "--topic", "orders/paid")
        assert (ran.code, len(api.asked)) == (code, asked)
        assert "PLAN" in ran.out
