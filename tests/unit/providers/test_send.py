"""The sender's side: every header, fresh samples, invented secrets."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from router.model.delivery import Verified
from router.providers import Provider, builtin
from router.providers.definition import spelled
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


PUBLISHED: dict[str, dict[str, str]] = {
    "github": {
        "push": "compare created deleted forced head_commit.tree_id commits.0.added sender.login",
        "pull_request": "pull_request.draft pull_request.labels.0.name pull_request.html_url"
        " pull_request.head.repo.full_name pull_request.merged_by pull_request.changed_files",
        "pull_request_review": "review.state review.user.login pull_request.number",
        "pull_request_review_comment": "comment.path comment.diff_hunk pull_request.number",
        "issues": "issue.labels.0.name issue.body issue.html_url issue.assignees sender.login",
        "issue_comment": "issue.user.login comment.html_url comment.author_association",
        "workflow_run": "workflow_run.head_branch workflow_run.head_sha workflow_run.html_url"
        " workflow_run.run_attempt workflow_run.actor.login workflow_run.head_commit.message",
        "workflow_job": "workflow_job.run_id workflow_job.head_branch workflow_job.conclusion"
        " workflow_job.steps.0.name workflow_job.runner_name workflow_job.labels",
        "check_run": "check_run.name check_run.conclusion check_run.check_suite.head_branch"
        " check_run.output.title check_run.pull_requests.0.number check_run.app.slug",
        "check_suite": "check_suite.head_branch check_suite.head_sha check_suite.conclusion"
        " check_suite.app.slug check_suite.head_commit.message",
        "release": "release.html_url release.body release.author.login release.assets.0.name"
        " release.target_commitish release.published_at",
        "create": "ref ref_type master_branch pusher_type sender.login repository.default_branch",
        "delete": "ref ref_type pusher_type sender.login",
        "deployment": "deployment.environment deployment.ref deployment.sha deployment.payload"
        " deployment.creator.login",
        "deployment_status": "deployment_status.state deployment_status.environment_url"
        " deployment_status.target_url deployment.ref",
        "ping": "zen hook_id hook.events hook.config.url repository.full_name",
        "star": "starred_at repository.stargazers_count sender.login",
        "fork": "forkee.full_name forkee.owner.login repository.forks_count",
        "status": "state context target_url description commit.html_url branches.0.name",
        "member": "member.login",
        "team": "team.slug organization.login",
    },
    "shopify": {
        "orders/paid": "tags note discount_codes billing_address.country_code line_items.0.name"
        " shipping_lines.0.title line_items.0.tax_lines.0.rate customer.tags source_name test token"
        " total_price_set.presentment_money.amount subtotal_price total_discounts updated_at"
        " shipping_address.province_code client_details.user_agent order_status_url",
        "orders/cancelled": "cancel_reason cancelled_at",
        "orders/fulfilled": "fulfillments.0.tracking_number fulfillments.0.tracking_url",
        "fulfillments/create": "order_id status tracking_company line_items.0.sku",
        "refunds/create": "order_id note refund_line_items.0.line_item.sku transactions.0.amount",
        "transactions/create": "order_id kind status amount gateway parent_id",
        "products/update": "variants.0.inventory_item_id variants.0.barcode image.src",
        "products/delete": "id",
        "customers/update": "default_address.country_code email_marketing_consent.state currency",
        "inventory_levels/update": "inventory_item_id location_id available",
        "inventory_items/update": "sku cost tracked country_code_of_origin",
        "collections/update": "title handle body_html published_at",
        "collection_listings/add": "collection_listing.collection_id collection_listing.title",
        "carts/update": "token line_items.0.variant_id line_items.0.quantity note",
        "checkouts/create": "token abandoned_checkout_url line_items.0.sku customer.email",
        "app/uninstalled": "myshopify_domain email plan_name shop_owner country_code",
        "themes/publish": "name role",
        "customers/data_request": "shop_domain customer.phone orders_requested data_request.id",
        "customers/redact": "shop_domain customer.phone orders_to_redact",
        "shop/redact": "shop_id shop_domain",
    },
    "stripe": {
        "payment_intent.succeeded": "data.object.customer data.object.latest_charge request.id",
        "payment_intent.payment_failed": "data.object.last_payment_error.code",
        "charge.refunded": "data.object.amount_refunded data.previous_attributes.refunded",
        "charge.dispute.created": "data.object.reason data.object.charge",
        "checkout.session.completed": "data.object.customer_details.email"
        " data.object.client_reference_id data.object.payment_status data.object.metadata",
        "customer.subscription.updated": "data.object.items.data.0.price.id data.object.status",
        "invoice.payment_failed": "data.object.next_payment_attempt data.object.attempt_count",
        "payout.failed": "data.object.failure_code data.object.arrival_date",
    },
    "gitlab": {
        "push": "user_username project.web_url commits.0.url checkout_sha repository.name",
        "tag_push": "ref message",
        "merge_request": "object_attributes.url object_attributes.last_commit.id user.email",
        "pipeline": "object_attributes.sha object_attributes.url builds.0.name commit.message",
        "build": "build_name build_status pipeline_id ref",
        "issue": "object_attributes.state object_attributes.url assignees labels",
        "note": "object_attributes.note object_attributes.noteable_type issue.iid",
        "release": "tag action url",
        "user_add_to_group": "event_name group_path user_username",
    },
    "gitea": {
        "push": "compare_url head_commit.message commits.0.modified repository.html_url",
        "pull_request": "number pull_request.head.ref pull_request.html_url pull_request.merged",
        "issues": "issue.title issue.html_url issue.state",
        "issue_comment": "comment.body issue.number",
        "release": "release.tag_name release.html_url",
    },
    "slack": {
        "app_mention": "event.channel event.text event.ts authorizations.0.team_id",
        "reaction_added": "event.reaction event.item.ts",
        "block_actions": "response_url actions.0.value channel.id message.ts user.name",
    },
    "sendgrid": {
        "processed": "smtp-id",
        "open": "sg_machine_open sg_content_type",
        "deferred": "attempt response smtp-id",
        "dropped": "reason status smtp-id",
        "group_unsubscribe": "asm_group_id ip useragent url",
    },
}


@pytest.mark.parametrize(
    ("provider", "event"), [(name, event) for name in PUBLISHED for event in PUBLISHED[name]]
)
def test_samples_have_the_fields_of_published_payloads_that_people_use(
    provider: str, event: str
) -> None:
    sample = a_provider(provider).sample(event)
    for path in PUBLISHED[provider][event].split():
        value = sample
        for step in path.split("."):
            value = value[int(step) if step.isdigit() else step]


def test_what_an_event_says_is_in_its_sample() -> None:
    shop = a_provider("shopify")
    assert shop.sample("orders/cancelled")["cancelled_at"] is not None
    assert shop.sample("orders/fulfilled")["fulfillment_status"] == "fulfilled"
    assert shop.sample("orders/partially_fulfilled")["fulfillment_status"] == "partial"
    assert "title" not in shop.sample("products/delete")
    paid, unpaid = (a_provider("stripe").sample(f"invoice.{e}") for e in ("paid", "payment_failed"))
    assert (paid["data"]["object"]["paid"], unpaid["data"]["object"]["paid"]) == (True, False)
    assert a_provider("gitlab").sample("tag_push")["ref"].startswith("refs/tags/")


def test_what_a_payment_event_is_about_is_its_object() -> None:
    stripe = a_provider("stripe")
    named = [name for sample in stripe.definition.samples for name in spelled(sample.events)]
    assert len(named) >= 28
    for event in named:
        about = stripe.sample(event)["data"]["object"]["object"]
        family = event.rpartition(".")[0].replace("customer.subscription", "subscription")
        assert about == family.replace("charge.dispute", "dispute"), event


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, dict | list):
            yield from _objects(one)


def test_an_address_has_the_name_of_its_country_and_its_code() -> None:
    shop = a_provider("shopify")
    samples = [sample.payload for sample in shop._samples]
    addresses = [o for sample in samples for o in _objects(sample) if "address2" in o]
    # The shop's own address alone has the code in both.
    countries = {(a["country"], a["country_code"]) for a in addresses if "shop_owner" not in a}
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
    with pytest.raises(ValueError, match="that this request does not"):
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


def test_a_new_id_is_of_the_kind_that_was_there() -> None:
    acme = Provider(
        a_definition(id={"field": ["number", "name"]}, event={"field": "type"}, split=10)
    )
    first, second = json.loads(acme.compose({"number": 42}, "n7", "n8"))
    assert {type(first["number"]), type(second["number"])} == {int}
    assert first["number"] != second["number"]
    assert 0 < first["number"] < 2**53  # beyond that many readers round
    assert json.loads(acme.compose({"number": 42}, "n7")) == [first]
    assert json.loads(acme.compose({"name": "old"}, "n7")) == [{"name": "n7"}]
    assert json.loads(acme.compose({"number": True}, "n7")) == [{"number": "n7"}]


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


BY_BYTES = sorted({p.name for p in builtin().values() if p.definition.id and p.definition.id.body})


@pytest.mark.parametrize("name", BY_BYTES)
def test_events_known_by_their_bytes_differ_when_made_anew(name: str) -> None:
    provider = builtin()[name]
    for event in (n for group in provider.definition.events for n in group.names):
        sample = provider.sample(event)
        first, other, again = [provider.compose(sample, one) for one in ("a", "b", "a")]
        assert first == again != other, event
        assert len(first) == len(other)


def test_what_varies_keeps_its_look() -> None:
    mandrill, zoom = builtin()["mandrill"], builtin()["zoom"]
    event = mandrill.numbered({"event": "blacklist", "ts": 1705314600}, "a")
    assert isinstance(event, dict)
    assert (type(event["ts"]), event["ts"] // 10**6) == (int, 1705)
    assert mandrill.numbered({"event": "x"}, "a") == {"event": "x"}
    spelt = zoom.numbered({"payload": {"triggerId": "v1abc@xmpp.zoom.us=="}}, "a")
    assert isinstance(spelt, dict)
    assert isinstance(spelt["payload"], dict)
    assert re.fullmatch(r"v1abc@xmpp\.zoom\.[0-9a-f]{2}==", str(spelt["payload"]["triggerId"]))
