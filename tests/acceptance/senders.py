"""What providers send, really signed: payloads, keys and requests."""

import json
from dataclasses import dataclass
from functools import cache

import httpx

from tests.signing import new_secret, signed

SHOP_ID, MAIL_ID, CODE_ID = "shop0123456789abcdef", "mail0123456789abcdef", "code0123456789abcdef"
SHOP_KEY, CODE_KEY = "a-made-up-shop-secret-of-32-bytes", "a-made-up-code-secret-of-32-bytes"

LANES = 8
"""`lane` of a payload is one of so many: what a concurrency group may go by."""

ENDPOINTS = f"""
secrets:
  shop: {{env: SHOP_SECRET}}
  mail: {{env: MAIL_KEY}}
  code: {{env: CODE_SECRET}}
endpoints:
  shop: {{id: {SHOP_ID}, provider: commerce, secrets: shop}}
  mail: {{id: {MAIL_ID}, provider: email, secrets: mail}}
  code: {{id: {CODE_ID}, provider: code-host, secrets: code}}
"""


@cache
def mail_keys() -> tuple[str, bytes]:
    """A pair made for this run: the public PEM for the router, the private one to sign with."""
    made = new_secret("email")
    return made.verify.decode(), made.sign


def environ() -> dict[str, str]:
    return {"SHOP_SECRET": SHOP_KEY, "MAIL_KEY": mail_keys()[0], "CODE_SECRET": CODE_KEY}


@dataclass(frozen=True)
class Sender:
    """One provider's side of an endpoint."""

    provider: str
    endpoint: str
    event: str
    key: bytes

    def request(
        self, base: str, number: int, *, now_ms: int, size: int = 0, key: bytes | None = None
    ) -> httpx.Request:
        """The signed request of delivery `number`; the same number gives the same id."""
        body = self.body(number, size)
        headers = signed(
            self.provider,
            body,
            self.key if key is None else key,
            event=self.event,
            delivery_id=delivery_id(number),
            now_ms=now_ms,
        )
        url = f"{base}/wh_{self.endpoint}"
        return httpx.Request("POST", url, content=body, headers=list(headers))

    def body(self, number: int, size: int = 0) -> bytes:
        """A payload with `number` in it, padded to about `size` bytes."""
        event = {"number": number, "lane": f"l{number % LANES}", "padding": "x" * size}
        if self.provider == "email":
            mark = {"email": "a@example.com", "timestamp": 1_700_000_000, "event": self.event}
            return json.dumps([{**mark, "sg_event_id": delivery_id(number), **event}]).encode()
        return json.dumps({"ref": "refs/heads/main", "id": number, **event}).encode()


def delivery_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def shop() -> Sender:
    return Sender("commerce", SHOP_ID, "orders/paid", SHOP_KEY.encode())


def mail() -> Sender:
    return Sender("email", MAIL_ID, "bounce", mail_keys()[1])


def code() -> Sender:
    return Sender("code-host", CODE_ID, "push", CODE_KEY.encode())
