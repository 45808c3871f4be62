"""The facts of the interface that are plain data: groups of events, and values of states."""

from typing import Any

import pytest

from router.config import load
from router.providers import builtin
from router.providers.read import dug
from router.rules.match import Matcher
from router.rules.scope import delivery_roots, event_scope
from tests.builders import a_delivery, an_event

GROUPS: dict[tuple[str, str], str] = {
    ("commerce", "Orders"): (
        "orders/create orders/updated orders/paid orders/cancelled orders/fulfilled"
        " orders/partially_fulfilled refunds/create transactions/create"
    ),
    ("commerce", "Products and inventory"): (
        "products/create products/update products/delete inventory_levels/update"
        " inventory_items/create inventory_items/update inventory_items/delete"
    ),
    ("commerce", "Customers"): (
        "customers/create customers/update customers/delete customers/enable customers/disable"
    ),
    ("commerce", "Collections"): (
        "collections/create collections/update collections/delete collection_listings/add"
        " collection_listings/remove"
    ),
    ("commerce", "Carts and checkouts"): (
        "carts/create carts/update checkouts/create checkouts/update checkouts/delete"
    ),
    ("commerce", "App and shop"): "app/uninstalled shop/update themes/publish themes/update",
    ("commerce", "Mandatory for public apps"): (
        "customers/redact shop/redact customers/data_request"
    ),
    ("code-host", "Repository"): (
        "push pull_request pull_request_review pull_request_review_comment issues issue_comment"
        " create delete fork star"
    ),
    ("code-host", "Workflow"): "workflow_run workflow_job check_run check_suite status",
    ("code-host", "Release"): "release deployment deployment_status",
    ("code-host", "Collaboration"): "member team_add repository",
    ("code-host", "Organization only"): "organization team membership repository project",
}
STATES = [
    ("commerce", "customers/create", "state", "enabled"),
    ("commerce", "orders/create", "financial_status", "paid"),
    ("commerce", "orders/create", "fulfillment_status", None),
    ("commerce", "products/update", "status", "active"),
    ("code-host", "pull_request", "pull_request.state", "open"),
    ("code-host", "workflow_run", "workflow_run.status", "completed"),
    ("code-host", "workflow_run", "workflow_run.conclusion", "success"),
    ("email", "bounce", "type", "bounce"),
]


@pytest.mark.parametrize(("provider", "group"), GROUPS)
def test_events_stand_in_their_groups(provider: str, group: str) -> None:
    shown = [e.name for e in builtin()[provider].events if e.group == group and not e.assumed]
    assert sorted(shown) == sorted(GROUPS[provider, group].split())


def test_events_of_the_mailer_that_are_shown() -> None:
    shown = {e.name for e in builtin()["email"].events if not e.assumed}
    assert shown == {"processed", "delivered", "open", "click", "bounce"}


@pytest.mark.parametrize(("provider", "event", "path", "value"), STATES)
def test_states_that_are_shown_are_in_the_samples(
    provider: str, event: str, path: str, value: Any
) -> None:
    assert dug(builtin()[provider].sample(event), path) == value


@pytest.mark.parametrize(("kind", "rule"), [("bounce", "hard"), ("blocked", "soft")])
def test_hard_and_soft_bounces_are_distinguished_by_a_rule(kind: str, rule: str) -> None:
    loaded = load(
        "version: 1\n"
        "endpoints: {mail: {id: mail-0123456789abcdef, provider: sendgrid, verify: none}}\n"
        "rules:\n"
        "- {id: hard, from: mail, events: bounce, match: payload.type == 'bounce',"
        " actions: {log: x}}\n"
        "- {id: soft, from: mail, events: bounce, match: payload.type == 'blocked',"
        " actions: {log: x}}\n",
        path="rules.yaml",
        env={},
    )
    assert loaded.ruleset is not None
    sample: Any = builtin()["email"].sample("bounce")
    event = an_event(name="bounce", payload={**sample, "type": kind})
    delivery = a_delivery(endpoint="mail", provider="sendgrid")
    roots = delivery_roots(delivery, {})
    scope = event_scope(roots, delivery, event, loaded.ruleset.defines)
    found = Matcher(loaded.ruleset).match("mail", "bounce", None, scope)
    assert [one.id for one in found.live] == [rule]
