"""The router under test: its rules file, its endpoints, and what its ledger and log say."""

import base64
import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from tests import ledger
from tests.acceptance.process import Rig, RouterProcess
from tests.acceptance.senders import (
    CODE_ID,
    CODE_KEY,
    ENDPOINTS,
    MAIL_ID,
    SHOP_ID,
    SHOP_KEY,
    environ,
    mail_keys,
)
from tests.faults.wire.message import Message, Place
from tests.signing import Secret, new_secret

MIB = 1024 * 1024
OLD_KEY, OVER_KEY = "an-old-made-up-secret-of-32-bytes", "a-past-made-up-secret-of-32-bytes"
SLACK_KEY, STRIPE_KEY = "a-made-up-slack-secret-of-32-byt", "whsec_a-made-up-stripe-secret-32"
SYMMETRIC = "whsec_" + base64.b64encode(b"a-made-up-standard-secret-of-32b").decode()
TOKEN = "a-made-up-token-of-more-than-32-bytes"
NO_RULES = "rules: []\n"

GENERIC = ("hmac", "basic", "jwt")
"""Providers whose endpoints are made up whole."""

MORE = """
  rotated: {id: rotated0123456789abcdef, provider: commerce, secrets: [shop, old, over]}
  guarded: {id: guarded0123456789abcdef, provider: commerce, secrets: shop, replay_guard: true}
  walled: {id: walled0123456789abcdef, provider: code-host, secrets: code, allow_from: 10.0.0.0/8}
  fresh: {id: fresh000123456789abcdef, provider: email, secrets: mail, tolerance: 300s}
  slack: {id: slack000123456789abcdef, provider: slack, secrets: slack}
  stripe: {id: stripe00123456789abcdef, provider: stripe, secrets: stripe}
  standard: {id: standard0123456789abcdef, provider: standard-webhooks, secrets: standard}
  gitlab: {id: gitlab00123456789abcdef, provider: gitlab, secrets: token}
  gitea: {id: gitea000123456789abcdef, provider: gitea, secrets: code}
  hmac: {id: hmac0000123456789abcdef, provider: hmac, secrets: hmac}
  token: {id: token000123456789abcdef, provider: token, secrets: token}
  basic: {id: basic000123456789abcdef, provider: basic, secrets: basic}
  jwt: {id: jwt00000123456789abcdef, provider: jwt, secrets: jwt}
"""
SECRETS = """
  old: {env: OLD, until: 2999-01-01}
  over: {env: OVER, until: 2020-01-01}
  slack: {env: SLACK}
  stripe: {env: STRIPE}
  standard: {env: STANDARD}
  token: {env: TOKEN}
  hmac: {env: HMAC}
  basic: {env: BASIC}
  jwt: {env: JWT}
endpoints:
"""
RULES = ENDPOINTS.replace("\nendpoints:\n", SECRETS) + MORE.lstrip("\n")


def hostile_rule(port: int) -> str:
    """What arrives under `hostile` is sent on as text, to be compared byte by byte."""
    return (
        "rules:\n"
        "  - id: hostile\n    from: [shop, mail, code]\n    match: exists(payload.hostile)\n"
        f"    actions: {{http: {{url: 'http://127.0.0.1:{port}/in',"
        " text: '{{ payload.hostile }}'}}\n"
    )


def variables() -> dict[str, str]:
    """The environment of the router."""
    more = {"OLD": OLD_KEY, "OVER": OVER_KEY, "SLACK": SLACK_KEY, "STRIPE": STRIPE_KEY}
    made = {name.upper(): invented(name).verify.decode() for name in GENERIC}
    return {**environ(), **more, **made, "STANDARD": SYMMETRIC, "TOKEN": TOKEN}


@cache
def invented(provider: str) -> Secret:
    """What verifies and what signs, made up for this run."""
    return new_secret(provider)


def places() -> dict[str, Place]:
    """Every endpoint by name."""
    shop, code, mail = SHOP_KEY.encode(), CODE_KEY.encode(), mail_keys()[1]
    each = {
        "shop": Place("commerce", SHOP_ID, "orders/paid", shop),
        "mail": Place("email", MAIL_ID, "bounce", mail, refused=403),
        "code": Place("code-host", CODE_ID, "push", code, body_max=25 * MIB),
        "rotated": Place("commerce", "rotated0123456789abcdef", "orders/paid", shop),
        "guarded": Place("commerce", "guarded0123456789abcdef", "orders/paid", shop),
        "walled": Place("code-host", "walled0123456789abcdef", "push", code, refused=403),
        "fresh": Place("email", "fresh000123456789abcdef", "bounce", mail, refused=403),
        "slack": Place("slack", "slack000123456789abcdef", "message", SLACK_KEY.encode()),
        "stripe": Place(
            "stripe", "stripe00123456789abcdef", "charge.succeeded", STRIPE_KEY.encode()
        ),
        "standard": Place(
            "standard-webhooks", "standard0123456789abcdef", "user.created", SYMMETRIC.encode()
        ),
        "gitlab": Place("gitlab", "gitlab00123456789abcdef", "Push Hook", TOKEN.encode()),
        "gitea": Place("gitea", "gitea000123456789abcdef", "push", code),
        **{
            name: Place(name, f"{name:0<8}123456789abcdef", "", invented(name).sign)
            for name in GENERIC
        },
        "token": Place("token", "token000123456789abcdef", "", TOKEN.encode()),
    }
    made = {place.provider: place for place in each.values()}
    others = {name: new_secret(name).sign for name in made}
    return {name: replace(place, other=others[place.provider]) for name, place in each.items()}


MAIN = ("shop", "mail", "code")


@dataclass
class Stored:
    """One delivery as the ledger has it."""

    state: str
    body: bytes


@dataclass
class Site:
    """A running router, and a second opinion on what it did."""

    rig: Rig
    router: RouterProcess
    places: dict[str, Place] = field(default_factory=places)
    number: int = 0
    read_to: int = 0

    def next(self) -> int:
        self.number += 1
        return self.number

    def good(self, name: str) -> Message:
        """The next believable delivery of this endpoint."""
        place, number = self.places[name], self.next()
        return place.signed(place.body(number), number, now_ms())

    def stored(self, id_: str) -> Stored | None:
        with contextlib.closing(ledger.connect(self.rig.store)) as db:
            row = db.execute("SELECT state, body FROM deliveries WHERE id = ?", (id_,)).fetchone()
        return None if row is None else Stored(ledger.DELIVERY_STATES[row[0]], bytes(row[1]))

    def count(self) -> int:
        return ledger.counts(self.rig.store).deliveries

    def new_lines(self) -> list[bytes]:
        """Whole log lines written since the last call."""
        with self.router.log.open("rb") as log:
            log.seek(self.read_to)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self.read_to += len(whole)
        return whole.splitlines()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def odd_lines(lines: list[bytes]) -> list[str]:
    """Those that are no JSON object on one line, or hold a traceback."""
    found = []
    for line in lines:
        try:
            sound = isinstance(json.loads(line), dict)
        except ValueError:
            sound = False
        if not sound or b"Traceback" in line or b'"request failed"' in line:
            found.append(line[:300].decode("utf-8", "replace"))
    return found


@contextlib.contextmanager
def site(folder: Path, rules: str = NO_RULES, server: str = "") -> Iterator[Site]:
    """A router with every endpoint, in a folder of its own."""
    rig = Rig(folder / "router", RULES + rules, variables(), server)
    with rig.router() as router:
        found = Site(rig, router)
        found.new_lines()
        yield found
