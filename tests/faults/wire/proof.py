"""B69 to B77: numbers, copies, who says he sends, and what texts may hold."""

import json
from dataclasses import replace

from tests.acceptance.senders import delivery_id
from tests.faults.wire.case import READ, REFUSED, Ask, Case, Make, taken, unproved
from tests.faults.wire.link import Steps
from tests.faults.wire.message import Message

ID = {"commerce": b"x-shopify-webhook-id", "code-host": b"x-github-delivery"}
HEADED = ("shop", "code")
TEXTS = (
    "$(id)",
    "`id`",
    "; rm -rf .",
    "a\nb",
    "-rf",
    "--output=x",
    "%s%n",
    "{{7*7}}",
    "{0.__class__}",
    "\x1b[31mred\x1b[0m",
    "\u202etxt.exe",
    "a\u200bb",
    "<svg onload=alert(1)>",
    "javascript:alert(1)",
    "=1+1",
    "\u2028line",
    "\x00nul",
)


def id_as(value: bytes) -> Make:
    """The id header's value."""
    return lambda ask: ask.signed().changed(ID[ask.place.provider], lambda _: value)


def elsewhere(ask: Ask) -> Message:
    """Rightly signed, with the secret of another endpoint."""
    path = b"/wh_guarded0123456789abcdef"
    return replace(ask.signed(key=b"the-right-key-of-another-endpoint"), path=path)


def same_body(ask: Ask) -> Steps:
    first = ask.signed()
    ask.number += 2_000_000
    return [first.encode() + ask.signed(first.body).encode()]


def hostile(text: str) -> Make:
    def make(ask: Ask) -> Message:
        event = {"event": "bounce", "sg_event_id": delivery_id(ask.number), "hostile": text}
        body = [event] if ask.place.provider == "email" else event
        return ask.signed(json.dumps(body).encode())

    return make


def proxied(ask: Ask) -> Message:
    hops = b", ".join([b"10.1.2.3"] * 100)
    return ask.signed().with_(
        (b"X-Forwarded-For", hops),
        (b"Forwarded", b"for=10.1.2.3"),
        (b"X-Real-IP", b"10.1.2.3"),
        (b"X-HTTP-Method-Override", b"DELETE"),
    )


PROOF: tuple[Case, ...] = (
    taken(69, "an id of 10 KB", id_as(b"i" * 10_000), places=HEADED),
    taken(69, "an id of look-alikes", id_as("\u0430\u0435\u043e".encode()), places=HEADED),
    unproved(73, "the secret of another endpoint", elsewhere, places=("shop",)),
    Case(
        74,
        "another id, the same body",
        same_body,
        (200, 200),
        state=READ,
        places=HEADED,
        words=("accepted", "accepted"),
        why="the id decides; `replay_guard` is for senders that sign the body alone",
    ),
    Case(
        74,
        "another id, the same body, guarded",
        same_body,
        (200, 200),
        state=READ,
        places=("guarded",),
        words=("accepted", "duplicate"),
    ),
    taken(75, "forged addresses", proxied),
    Case(75, "forged addresses at a wall", proxied, (REFUSED,), places=("walled",)),
    *(taken(77, repr(text), hostile(text)) for text in TEXTS),
)
