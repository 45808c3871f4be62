"""Subscriptions at senders as the router remembers them: pure values."""

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

FACTS = "subscription/"
"""The names of the facts that hold records begin so."""

SCOPES = "scopes/"
"""So do those of what a token was allowed."""

SubscriptionState = Literal["asked", "made"]


class Subscription(msgspec.Struct, frozen=True):
    """
    One subscription as we know it. `asked`: a call went out and its answer was never seen.

    `base` is the shop's address, `id` the sender's own name for it. Times in Unix milliseconds.
    """

    endpoint: str
    topic: str
    address: str
    base: str
    state: SubscriptionState
    asked_at: int
    id: str | None = None


class GrantedScopes(msgspec.Struct, frozen=True):
    """What the token for a shop at `base` was allowed, in Unix milliseconds `at`."""

    base: str
    scopes: tuple[str, ...]
    at: int


def scopes_name(base: str) -> str:
    """The name under which the scopes at one shop are remembered."""
    return SCOPES + hashlib.sha256(base.encode()).hexdigest()[:32]


def granted_at(facts: Mapping[str, Any], base: str) -> GrantedScopes | None:
    """What `recall(SCOPES)` gave for one shop."""
    try:
        return msgspec.convert(facts.get(scopes_name(base)), GrantedScopes)
    except msgspec.ValidationError:
        return None


def fact_name(base: str, topic: str, address: str) -> str:
    """The name under which one subscription is remembered."""
    return FACTS + hashlib.sha256("\0".join((base, topic, address)).encode()).hexdigest()[:32]


def subscriptions(facts: Mapping[str, Any]) -> dict[str, Subscription]:
    """What `recall(FACTS)` gave; anything unreadable is left out."""
    found = {}
    for name, value in facts.items():
        try:
            found[name] = msgspec.convert(value, Subscription)
        except msgspec.ValidationError:
            continue
    return found


def is_subscription(fact: tuple[str, Any]) -> bool:
    """Whether a name and a value may be kept as one: a record, or None to forget it."""
    name, value = fact
    if value is None:
        return name.startswith(FACTS)
    found = subscriptions({name: value}).get(name)
    return found is not None and name == fact_name(found.base, found.topic, found.address)
