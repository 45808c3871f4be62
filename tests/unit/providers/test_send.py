"""The sender's side: every header, fresh samples, invented secrets."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from router.model.delivery import Verified
from router.providers import Provider, builtin
from tests.unit.providers.makers import (
    NOW_MS,
    PROVIDERS,
    a_definition,
    a_delivery,
    a_provider,
    fixed_bytes,
    invented,
    other_bytes,
    verdict,
)

TABLES: dict[tuple[str, str], str] = {
    ("commerce", "orders/create"): (
        "id admin_graphql_api_id app_id browser_ip buyer_accepts_marketing cancel_reason"
        " cancelled_at cart_token checkout_token checkout_id confirmed created_at processed_at"
        " currency current_subtotal_price current_total_price total_price total_tax customer email"
        " financial_status fulfillment_status line_items name number order_number"
        " payment_gateway_names shipping_address"
    ),
    ("commerce", "products/update"): (
        "id title vendor product_type handle status body_html created_at updated_at published_at"
        " tags variants options images"
    ),
    ("commerce", "customers/create"): (
        "id email first_name last_name phone note accepts_marketing verified_email created_at"
        " updated_at addresses tags state total_spent orders_count"
    ),
    ("email", "processed"): "email timestamp event category sg_event_id sg_message_id",
    ("email", "delivered"): (
        "email timestamp event category sg_event_id sg_message_id smtp-id ip response tls"
        " unique_args"
    ),
    ("email", "open"): (
        "email timestamp event category sg_event_id sg_message_id ip unique_args useragent"
    ),
    ("email", "click"): (
        "email timestamp event category sg_event_id sg_message_id ip unique_args useragent url"
        " url_offset"
    ),
    ("email", "bounce"): (
        "email timestamp event category sg_event_id sg_message_id smtp-id ip tls type status"
        " reason bounce_classification"
    ),
    ("code-host", "push"): "ref before after repository pusher commits",
    ("code-host", "pull_request"): "action number pull_request repository",
    ("code-host", "workflow_run"): "action workflow_run workflow repository",
}


@pytest.mark.parametrize(("provider", "event"), TABLES)
def test_samples_hold_the_fields_of_the_interface(provider: str, event: str) -> None:
    assert set(TABLES[provider, event].split()) <= set(a_provider(provider).sample(event))


def test_every_event_of_every_catalogue_has_a_sample() -> None:
    for name in PROVIDERS:
        provider = a_provider(name)
        assert all(isinstance(provider.sample(e.name), dict) for e in provider.events)


ASSUMED = """
orders/paid products/create customers/update refunds/create customers/redact carts/update
dropped deferred spamreport group_unsubscribe issues.opened release repository_dispatch ping
"""
SHOWN = "orders/create products/update customers/create bounce click push workflow_run.completed"


def test_a_sample_tells_whether_the_interface_shows_it() -> None:
    def assumed(event: str) -> bool:
        (provider,) = (p for p in map(a_provider, PROVIDERS) if p.sample(event) is not None)
        return provider.sample_assumed(event)

    assert [event for event in SHOWN.split() if assumed(event)] == []
    assert [event for event in ASSUMED.split() if not assumed(event)] == []


NESTED: dict[tuple[str, str], dict[str, str]] = {
    ("commerce", "orders/create"): {
        "customer": "id email first_name last_name",
        "line_items.0": (
            "id variant_id product_id title sku variant_title vendor fulfillment_service quantity"
            " price price_set"
        ),
        "line_items.0.price_set.shop_money": "amount currency_code",
        "shipping_address": "first_name last_name address1 city province country zip",
    },
    ("commerce", "products/update"): {
        "variants.0": "id product_id title sku price inventory_quantity old_inventory_quantity",
        "options.0": "id product_id name position values",
        "images.0": "id product_id src",
    },
    ("commerce", "customers/create"): {
        "addresses.0": (
            "id customer_id first_name last_name address1 city province country zip default"
        ),
    },
    ("email", "click"): {"url_offset": "index type"},
    ("code-host", "push"): {
        "repository": "id name full_name owner",
        "repository.owner": "name email",
        "pusher": "name email",
        "commits.0": "id message timestamp author",
        "commits.0.author": "name email",
    },
    ("code-host", "pull_request"): {
        "pull_request": "id number title state user head base body merged",
        "pull_request.user": "login id",
        "pull_request.head": "ref sha",
        "pull_request.base": "ref sha",
        "repository": "name full_name",
    },
    ("code-host", "workflow_run"): {
        "workflow_run": (
            "id workflow_id run_number name status conclusion event created_at updated_at"
        ),
        "workflow": "id name path",
        "repository": "name full_name",
    },
}


@pytest.mark.parametrize(("provider", "event"), NESTED)
def test_samples_hold_the_fields_within_fields(provider: str, event: str) -> None:
    for path, names in NESTED[provider, event].items():
        value = a_provider(provider).sample(event)
        for step in path.split("."):
            value = value[int(step) if step.isdigit() else step]
        assert set(names.split()) <= set(value), path


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, dict | list):
            yield from _objects(one)


def test_an_address_has_the_name_of_its_country_and_its_code() -> None:
    shop = a_provider("shopify")
    samples = [shop.sample(event.name) for event in shop.events]
    addresses = [o for sample in samples for o in _objects(sample) if "address1" in o]
    countries = {(a["country"], a["country_code"]) for a in addresses}
    assert countries == {("Germany", "DE")}


def test_every_event_and_action_is_genuine_and_read_as_what_it_is() -> None:
    for name in PROVIDERS:
        provider = a_provider(name)
        for event in provider.events:
            for action in event.actions or (None,):
                request = a_delivery(provider, f"{event.name}.{action}" if action else event.name)
                assert verdict(provider, request) == Verified("s0")
                (read,) = provider.read(request).events
                assert (read.name, action or read.action) == (event.name, read.action)


def test_events_of_no_catalogue_have_none() -> None:
    for name in PROVIDERS:
        assert a_provider(name).sample("no/such") is None
        assert a_provider(name).sample("no.such") is None


def test_a_sample_is_fresh() -> None:
    hub = a_provider("github")
    hub.sample("push")["repository"]["name"] = "changed"
    assert hub.sample("push")["repository"]["name"] == "example"


def test_a_sample_says_its_event_and_action() -> None:
    assert a_provider("email").sample("spamreport")["event"] == "spamreport"
    hub = a_provider("github")
    assert hub.sample("workflow_run.requested")["action"] == "requested"
    assert hub.sample("pull_request")["action"] == "opened"
    assert hub.sample("issues")["action"] == "opened"
    assert hub.sample("repository_dispatch")["action"] == "deploy"
    assert "action" not in hub.sample("fork")


def test_names_with_an_action_are_split_where_actions_are_known() -> None:
    assert a_provider("github").split_name("issues.opened") == ("issues", "opened")
    assert a_provider("github").split_name("issues") == ("issues", None)
    assert a_provider("shopify").split_name("a.b") == ("a.b", None)


def signed(name: str, event: str, **more: Any) -> dict[str, str]:
    provider = a_provider(name)
    key = invented(provider).sign
    given = {"body": b"{}", "key": key, "delivery_id": "id-1", "now_ms": NOW_MS} | more
    return dict(provider.sign(event=event, **given))


def test_every_header_of_the_shop() -> None:
    headers = signed("shopify", "orders/paid")
    assert headers.pop("X-Shopify-Hmac-Sha256").endswith("=")
    assert headers == {
        "Content-Type": "application/json",
        "X-Shopify-Topic": "orders/paid",
        "X-Shopify-Webhook-Id": "id-1",
        "X-Shopify-Shop-Domain": "example-shop.test",
        "X-Shopify-API-Version": "2024-01",
    }


def test_every_header_of_the_code_host() -> None:
    headers = signed("github", "workflow_run.completed")
    assert headers.pop("X-Hub-Signature-256").startswith("sha256=")
    assert headers == {
        "Content-Type": "application/json",
        "X-GitHub-Event": "workflow_run",
        "X-GitHub-Delivery": "id-1",
    }


def test_every_header_of_the_mailer() -> None:
    headers = signed("sendgrid", "bounce")
    assert headers.pop("X-Twilio-Email-Event-Webhook-Signature")
    stamp = str(NOW_MS // 1000)
    assert headers == {
        "Content-Type": "application/json",
        "X-Twilio-Email-Event-Webhook-Timestamp": stamp,
    }


def test_a_key_that_cannot_sign_says_so() -> None:
    with pytest.raises(ValueError, match="private key"):
        signed("sendgrid", "bounce", key=b"junk")


def test_a_header_that_is_not_sent_cannot_be_signed() -> None:
    rule = {"scheme": "hmac", "header": "X-S", "message": "{header:X-Other}{body}"}
    acme = Provider(a_definition(verify=rule))
    with pytest.raises(ValueError, match="does not send"):
        acme.sign(event="e", body=b"", key=b"k", delivery_id="1", now_ms=0)


def test_an_unsigned_sender_sends_no_signature() -> None:
    acme = Provider(a_definition(verify={"scheme": "none"}))
    headers = acme.sign(event="e", body=b"", key=b"", delivery_id="1", now_ms=0)
    assert headers == (("Content-Type", "application/json"), ("X-Acme-Event", "e"))


def test_bodies_are_composed_as_the_sender_does() -> None:
    mail, hub = a_provider("email"), a_provider("github")
    assert json.loads(mail.compose({"event": "open"}, "n7")) == [
        {"event": "open", "sg_event_id": "n7"}
    ]
    assert hub.compose({"a": 1}, "n7") == b'{"a":1}'
    assert mail.compose(5, "n7") == b"[5]\r\n"


def test_a_batch_is_written_as_the_mailer_does() -> None:
    """Each event on a line of its own, CRLF at the end, the signs of HTML as escapes."""
    body = a_provider("email").compose({"smtp-id": "<a&b>"}, "n1", "n2")
    assert body == (
        b'[{"smtp-id":"\\u003ca\\u0026b\\u003e","sg_event_id":"n1"},\r\n'
        b'{"smtp-id":"\\u003ca\\u0026b\\u003e","sg_event_id":"n2"}]\r\n'
    )
    assert [e["smtp-id"] for e in json.loads(body)] == ["<a&b>"] * 2


def test_a_batch_of_a_sender_without_such_habits_is_plain() -> None:
    acme = Provider(a_definition(event={"field": "type"}, id={"field": "id"}, split=10))
    assert acme.compose({"t": "<"}, "1", "2") == b'[{"t":"<","id":"1"},{"t":"<","id":"2"}]'


def test_names_and_ids_may_stand_deep_in_the_payload() -> None:
    acme = Provider(
        a_definition(
            event={"field": "meta.type"},
            id={"field": "meta.id"},
            events=[{"group": "All", "names": ["made"]}],
            samples=[{"for": "*", "payload": {"a": 1}}],
        )
    )
    given = acme.sample("made")
    assert given == {"a": 1, "meta": {"type": "made"}}
    assert json.loads(acme.compose(given, "n7")) == {"a": 1, "meta": {"type": "made", "id": "n7"}}
    assert given == {"a": 1, "meta": {"type": "made"}}


@pytest.mark.parametrize("payload", [5, "text", ["action"], None])
def test_samples_of_any_kind(payload: Any) -> None:
    acme = Provider(
        a_definition(
            action={"field": "action"},
            events=[{"group": "All", "names": ["made"], "actions": ["a"]}],
            samples=[{"for": ["made"], "payload": payload}],
        )
    )
    assert acme.sample("made") == payload


@pytest.mark.parametrize("name", sorted(builtin()))
def test_invented_secrets_are_usable_and_unprintable(name: str) -> None:
    provider = a_provider(name)
    made = provider.invent_secret(fixed_bytes)
    verdict = provider.check_secret(made.verify)
    assert (verdict.ok, verdict.warning, verdict.error) == (True, None, None)
    assert made == provider.invent_secret(fixed_bytes)
    assert made != provider.invent_secret(other_bytes)
    assert made.verify.decode() not in repr(made) + str(made)
