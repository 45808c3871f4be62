"""B68 to B77: names, numbers, times and signatures; who says he sends; and what texts may hold."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from tests.acceptance.senders import delivery_id
from tests.faults.wire.case import READ, REFUSED, Ask, Case, Make, taken, unproved
from tests.faults.wire.link import Steps
from tests.faults.wire.message import Message
from tests.faults.wire.site import OLD_KEY, OVER_KEY, STRIPE_KEY, SYMMETRIC, now_ms
from tests.signing import ecdsa, hmac_of

EVENT = {"commerce": b"x-shopify-topic", "code-host": b"x-github-event"}
ID = {"commerce": b"x-shopify-webhook-id", "code-host": b"x-github-delivery"}
HEADED = ("shop", "code")
STAMPED = ("fresh", "slack", "standard")
P256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ODD_STAMPS = {
    "abc": b"abc",
    "-1": b"-1",
    "0": b"0",
    "2 to the 63": b"9223372036854775808",
    "5,000 digits": b"1" * 5000,
    "full-width digits": "\uff11\uff12\uff13".encode(),
    "a space and an underline": b" 12_3",
    "a plus": b"+5",
    "empty": b"",
}
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


def event_as(value: bytes | None) -> Make:
    def make(ask: Ask) -> Message:
        name = EVENT[ask.place.provider]
        bare = ask.signed().without(name)
        return bare if value is None else bare.with_((name, value))

    return make


def id_as(value: bytes | None) -> Make:
    """The id header's value; `%d` in it becomes the delivery's number."""

    def make(ask: Ask) -> Message:
        name = ID[ask.place.provider]
        bare = ask.signed().without(name)
        return bare if value is None else bare.with_((name, value))

    return make


def second(name: dict[str, bytes], value: bytes) -> Make:
    return lambda ask: ask.signed().with_((name[ask.place.provider], value))


def stamped(ask: Ask, stamp: bytes) -> Message:
    """Rightly signed over a time stamp that may be anything."""
    message = ask.signed()
    body, provider = message.body, ask.place.provider
    if provider == "slack":
        proof = b"v0=" + hmac_of(ask.place.key, b"v0:", stamp, b":", body).hex().encode()
        name = b"x-slack-request-timestamp"
    elif provider == "standard-webhooks":
        key = base64.b64decode(SYMMETRIC.removeprefix("whsec_"))
        id_ = delivery_id(ask.number).encode()
        proof = b"v1," + base64.b64encode(hmac_of(key, id_, b".", stamp, b".", body))
        name = b"webhook-timestamp"
    else:
        proof = base64.b64encode(ecdsa(ask.place.key, stamp + body))
        name = b"x-twilio-email-event-webhook-timestamp"
    signed = message.changed(ask.place.signature, lambda _: proof)
    return signed.changed(name, lambda _: stamp)


def unstamped(ask: Ask) -> Message:
    names = [n.lower() for n, _ in ask.signed().headers if b"timestamp" in n.lower()]
    return ask.signed().without(*names)


def stripe(ask: Ask, *proofs: bytes) -> Message:
    """A list with these entries; `GOOD` in one becomes the right signature."""
    message = ask.signed()
    stamp = b"%d" % (now_ms() // 1000)
    good = hmac_of(STRIPE_KEY.encode(), stamp, b".", message.body).hex().encode()
    entries = [
        b"t=" + stamp,
        *[p.replace(b"GOOD", good).replace(b"SHOUT", good.upper()) for p in proofs],
    ]
    return message.changed(ask.place.signature, lambda _: b",".join(entries))


def listed(*proofs: bytes) -> Make:
    return lambda ask: stripe(ask, *proofs)


def awkward(ask: Ask) -> Message:
    """A delivery whose base64 signature holds a sign that the other alphabet spells otherwise."""
    while True:
        message = ask.signed()
        if set(message.value(ask.place.signature)) & set(b"+/"):
            return message
        ask.number += 1_000_000


def respelt(before: bytes, after: bytes) -> Make:
    def make(ask: Ask) -> Message:
        table = bytes.maketrans(before, after)
        return awkward(ask).changed(ask.place.signature, lambda v: v.translate(table))

    return make


def cut(ask: Ask) -> Message:
    return ask.signed().changed(ask.place.signature, lambda value: value[:-2])


def shouted(ask: Ask) -> Message:
    def change(value: bytes) -> bytes:
        return b"sha256=" + value.removeprefix(b"sha256=").upper()

    return ask.signed().changed(ask.place.signature, change)


def rewritten(change: Callable[[bytes], bytes]) -> Make:
    """The DER of the signature, changed."""

    def make(ask: Ask) -> Message:
        def spoil(value: bytes) -> bytes:
            return base64.b64encode(change(base64.b64decode(value)))

        return ask.signed().changed(ask.place.signature, spoil)

    return make


def negated(der: bytes) -> bytes:
    r, s = decode_dss_signature(der)
    return encode_dss_signature(r, P256 - s)


def long_length(der: bytes) -> bytes:
    return b"\x30\x81" + der[1:]


def mirrored(ask: Ask) -> Steps:
    """First as it was signed, then with the other signature that fits as well."""
    message = ask.signed()
    other = message.changed(
        ask.place.signature, lambda v: base64.b64encode(negated(base64.b64decode(v)))
    )
    return [message.encode() + other.encode()]


def another_curve(ask: Ask) -> Message:
    private = ec.generate_private_key(ec.SECP384R1())
    message = ask.signed()
    stamp = message.value(b"x-twilio-email-event-webhook-timestamp")

    raw = private.sign(stamp + message.body, ec.ECDSA(hashes.SHA256()))
    return message.changed(ask.place.signature, lambda _: base64.b64encode(raw))


def elsewhere(ask: Ask) -> Message:
    """Rightly signed, with the secret of another endpoint."""
    path = b"/wh_guarded0123456789abcdef"
    return replace(ask.signed(key=b"the-right-key-of-another-endpoint"), path=path)


def same_id(ask: Ask) -> Steps:
    first = ask.signed()
    return [first.encode() + ask.signed(first.body + b" ").encode()]


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


NAMES = (
    taken(68, "no event", event_as(None), places=HEADED),
    taken(68, "the event twice, the same", second(EVENT, b"push"), places=("code",)),
    unproved(68, "the event twice", second(EVENT, b"other"), places=HEADED),
    taken(68, "an event of 10 KB", event_as(b"e" * 10_000), places=HEADED),
    taken(68, "CR and LF, escaped", event_as(b"push%0d%0aX: 1"), places=HEADED),
    taken(69, "no id", id_as(None), places=HEADED),
    taken(69, "an empty id", id_as(b""), places=HEADED),
    taken(69, "an id of 10 KB", id_as(b"i" * 10_000), places=HEADED),
    Case(69, "NUL in the id", id_as(b"a\x00b"), (400,), closes=True, places=HEADED),
    taken(69, "an id of look-alikes", id_as("\u0430\u0435\u043e".encode()), places=HEADED),
    taken(69, "no id in the batch", lambda a: a.signed(b'[{"event":"bounce"}]'), places=("mail",)),
)

TIMES = (
    unproved(70, "no time stamp", unstamped, places=(*STAMPED, "mail")),
    *(
        unproved(70, name, lambda ask, s=stamp: stamped(ask, s), places=STAMPED)
        for name, stamp in ODD_STAMPS.items()
    ),
    unproved(70, "abc, no tolerance", lambda ask: stamped(ask, b"abc"), places=("mail",)),
    unproved(70, "302 s ahead", lambda ask: ask.signed(later_s=302), places=STAMPED),
    unproved(70, "302 s old", lambda ask: ask.signed(later_s=-302), places=STAMPED),
    taken(70, "298 s old", lambda ask: ask.signed(later_s=-298), places=STAMPED),
    taken(
        70,
        "a day old",
        lambda ask: ask.signed(later_s=-86_400),
        places=("mail",),
        why="email has no tolerance of its own: its retries keep their stamps (DESIGN 3)",
    ),
)

LISTS = (
    unproved(71, "no signature in the list", listed(), places=("stripe",)),
    taken(
        71, "one good of twenty", listed(*[b"v1=" + b"0" * 64] * 19, b"v1=GOOD"), places=("stripe",)
    ),
    unproved(71, "1,000 entries", listed(*[b"v1=a"] * 999, b"v1=GOOD"), places=("stripe",)),
    unproved(71, "another scheme", listed(b"v0=GOOD"), places=("stripe",)),
    unproved(71, "upper case in the list", listed(b"v1=SHOUT"), places=("stripe",)),
    unproved(
        71, "a signature cut short", cut, places=("shop", "mail", "code", "stripe", "standard")
    ),
    unproved(71, "upper-case hex", shouted, places=("code",)),
    unproved(
        71, "base64 of the other alphabet", respelt(b"+/", b"-_"), places=("shop", "standard")
    ),
    unproved(
        71,
        "base64 without padding",
        lambda ask: ask.signed().changed(ask.place.signature, lambda v: v.rstrip(b"=")),
        places=("shop", "standard"),
    ),
)

CURVES = (
    Case(
        72,
        "s becomes n - s",
        mirrored,
        (200, 200),
        state=READ,
        places=("mail",),
        words=("accepted", "duplicate"),
    ),
    *(
        unproved(72, name, make, places=("mail",))
        for name, make in (
            ("a byte behind", rewritten(lambda der: der + b"\0")),
            ("a length in long form", rewritten(long_length)),
            (
                "r is 0",
                rewritten(lambda der: encode_dss_signature(0, decode_dss_signature(der)[1])),
            ),
            ("no bytes", rewritten(lambda der: b"")),
            ("another curve", another_curve),
        )
    ),
)

SECRETS = (
    unproved(73, "the secret of another endpoint", elsewhere, places=("shop",)),
    taken(
        73,
        "an old secret, still valid",
        lambda ask: ask.signed(key=OLD_KEY.encode()),
        places=("rotated",),
    ),
    unproved(
        73,
        "an old secret, over",
        lambda ask: ask.signed(key=OVER_KEY.encode()),
        places=("rotated",),
    ),
)

COPIES = (
    Case(74, "a hundred at once", lambda a: a.signed(), (200,), state=READ, copies=100, within=5.0),
    Case(
        74,
        "the same id, another body",
        same_id,
        (200, 200),
        state=READ,
        places=HEADED,
        words=("accepted", "duplicate"),
    ),
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
)

WHENCE = (
    taken(75, "forged addresses", proxied),
    Case(75, "forged addresses at a wall", proxied, (REFUSED,), places=("walled",)),
    *(
        taken(
            76,
            name,
            lambda ask, host=host: ask.signed().without(b"host").with_((b"Host", host)),
            why="the path is the address; the public listener has no list of names",
        )
        for name, host in (("an evil host", b"evil"), ("a host below", b"a.evil"))
    ),
    *(
        Case(
            76,
            name,
            lambda ask, host=host: ask.signed().without(b"host").with_((b"Host", host)),
            (400,),
            closes=True,
        )
        for name, host in (("a host that is none", b"a b<"), ("a host with a path", b"a/b"))
    ),
    *(taken(77, repr(text), hostile(text)) for text in TEXTS),
)

PROOF: tuple[Case, ...] = (*NAMES, *TIMES, *LISTS, *CURVES, *SECRETS, *COPIES, *WHENCE)
