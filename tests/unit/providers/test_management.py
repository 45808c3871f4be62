"""Requests and answers of a sender's API, as data."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.errors import ConfigError
from router.providers import builtin
from router.providers.management import (
    Access,
    BadAnswerError,
    dispatch,
    graphql_topic,
    is_repository,
    is_topic,
    read_problem,
    read_subscribed,
    read_subscribed_graphql,
    subscribe,
    topic_table,
)
from router.providers.published_ranges import read_ranges
from router.providers.ranges_rule import RangesRule
from tests.unit.providers.makers import a_definition

TOPICS = [info.name for info in builtin()["shopify"].events]


def test_the_whole_catalogue_has_a_table() -> None:
    assert len(topic_table(TOPICS)) == len(TOPICS) > 200
    assert topic_table(TOPICS)["ORDERS_CREATE"] == "orders/create"
    assert graphql_topic("customers/data_request") == "CUSTOMERS_DATA_REQUEST"


@given(st.sampled_from(TOPICS))
def test_there_and_back_is_the_same(topic: str) -> None:
    assert is_topic(topic)
    name = graphql_topic(topic)
    assert re.fullmatch(r"[A-Z]+(_[A-Z]+)+", name)
    assert topic_table(TOPICS)[name] == topic


@given(st.lists(st.from_regex(r"[a-z_]{1,6}/[a-z_]{1,6}", fullmatch=True), max_size=8))
def test_a_table_goes_both_ways_or_is_refused(topics: list[str]) -> None:
    try:
        table = topic_table(topics)
    except ValueError:
        assert len({graphql_topic(t) for t in set(topics)}) < len(set(topics))
        return
    assert all(table[graphql_topic(topic)] == topic for topic in topics)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("orders/create", True),
        ("a/b/c_d", True),
        ("ORDERS_CREATE", False),
        ("orders", False),
        ("orders/", False),
        ("/x", False),
        ("a b/c", False),
        ("", False),
        ("orders/*", False),
    ],
)
def test_what_a_topic_is(text: str, right: bool) -> None:
    assert is_topic(text) is right


def shop(**given: Any) -> Access:
    rule = builtin()["shopify"].definition.api
    assert rule is not None
    return Access(rule, "https://example-shop.test", **given)


def test_a_version_left_out_is_the_definition_s() -> None:
    assert "/2024-01/" in subscribe(shop(), "orders/create", "x").url
    assert "/2025-10/" in subscribe(shop(version="2025-10"), "orders/create", "x").url


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("o/r", True),
        ("my-org/my.repo_1", True),
        ("o", False),
        ("o/r/x", False),
        ("", False),
        ("../x", False),
        ("o/..", False),
        ("o/r?x", False),
        ("o/r x", False),
        ("./.", False),
    ],
)
def test_what_a_repository_is(text: str, right: bool) -> None:
    assert is_repository(text) is right
    rule = builtin()["github"].definition.api
    assert rule is not None
    access = Access(rule, "https://api.github.com")
    if right:
        assert dispatch(access, text, "t").url.endswith(f"/repos/{text}/dispatches")
    else:
        with pytest.raises(ValueError, match="OWNER/REPO"):
            dispatch(access, text, "t")


def test_a_dispatch_without_a_payload_has_the_event_type_alone() -> None:
    rule = builtin()["github"].definition.api
    assert rule is not None
    access = Access(rule, "https://api.github.com", "t")
    request = dispatch(access, "o/r", "deploy")
    assert request.body == b'{"event_type":"deploy"}'
    assert dispatch(access, "o/r", "deploy", {"a": 1}).body == (
        b'{"event_type":"deploy","client_payload":{"a":1}}'
    )
    assert ("Authorization", "token t") in request.headers


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda children: (
        st.lists(children, max_size=4)
        | st.dictionaries(
            st.sampled_from(["data", "errors", "webhook", "id", "hooks", "userErrors", "message"])
            | st.sampled_from(["field", "webhookSubscriptionCreate", "webhookSubscription"]),
            children,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON.map(msgspec.json.encode) | st.binary(max_size=60))
def test_any_answer_at_all_is_read_or_refused(body: bytes) -> None:
    said = read_problem(body)
    assert len(said) <= 300
    assert said.isprintable()
    for read in (
        read_subscribed,
        read_subscribed_graphql,
        lambda b: read_ranges(b, RangesRule("", "hooks")),
    ):
        try:
            read(body)
        except BadAnswerError:
            continue


RULE: dict[str, Any] = {"token_header": "X-Token"}


@pytest.mark.parametrize(
    ("api", "words"),
    [
        ({}, "token_header"),
        (RULE | {"colour": 1}, "unknown field `colour`"),
        (RULE | {"version": "2024"}, "YYYY-MM"),
        (RULE | {"subscribe": "hooks"}, "`api.subscribe` is a path"),
        (RULE | {"subscribe": "/{owner}"}, "`api.subscribe` knows {api_version}"),
        (RULE | {"ranges": "/{owner}", "ranges_field": "x"}, "knows no placeholder"),
        (RULE | {"ranges": "/meta"}, "go together"),
        (RULE | {"subscriptions_per_s": 0}, "above zero"),
        ({"token_header": {}}, "names no header"),
        ({"token_header": {"other": "X"}}, "for each of `names`"),
    ],
)
def test_a_definition_s_api_is_checked(api: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        a_definition(api=api)
    assert words in " | ".join(d.message for d in caught.value.diagnostics)


@pytest.mark.parametrize(
    ("topic", "granted", "missing"),
    [
        ("orders/paid", ["read_orders"], ()),
        ("orders/paid", ["write_orders"], ()),
        ("orders/paid", ["read_marketplace_orders"], ()),
        (
            "orders/paid",
            ["read_buyer_membership_orders"],
            ("read_orders", "read_marketplace_orders"),
        ),
        ("orders/updated", ["read_buyer_membership_orders"], ()),
        ("orders/delete", [], ("read_orders",)),
        ("customers/merge", ["read_customers"], ("read_customer_merge",)),
        ("customers/redact", [], ()),
        ("app/uninstalled", [], ()),
    ],
)
def test_the_scopes_that_a_topic_needs(topic: str, granted: list[str], missing: Any) -> None:
    api = builtin()["shopify"].definition.api
    assert api is not None
    assert api.scopes is not None
    assert api.scopes.missing(topic, granted) == missing
