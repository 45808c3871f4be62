"""
Requests signed as their senders sign them, written without the router: a second opinion.

`tests/conformance/test_oracles.py` holds it against the router's own signing.
"""

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

Headers = tuple[tuple[str, str], ...]


class Secret(NamedTuple):
    """What the router verifies with, and what the sender signs with; often the same."""

    verify: bytes
    sign: bytes


class Delivery(NamedTuple):
    """What is signed; `now_s` in Unix seconds."""

    body: bytes
    key: bytes
    event: str
    id: str
    now_s: int


def signed(
    sender: str, body: bytes, key: bytes, *, event: str = "", delivery_id: str = "", now_ms: int = 0
) -> Headers:
    """The headers of one delivery, as this sender writes them; the proof is the last one."""
    given = Delivery(body, key, event, delivery_id, now_ms // 1000)
    return (("Content-Type", "application/json"), *SENDERS[sender](given))


def new_secret(sender: str) -> Secret:
    """A random secret as this sender's screens show one."""
    if sender == "email":
        return _pair(ec.generate_private_key(ec.SECP256R1()))
    if sender == "jwt":
        return _pair(ed25519.Ed25519PrivateKey.generate())
    text = os.urandom(32).hex()
    if sender == "standard-webhooks":
        text = "whsec_" + base64.b64encode(os.urandom(32)).decode()
    secret = f"router:{text}".encode() if sender == "basic" else text.encode()
    return Secret(secret, secret)


def hmac_of(key: bytes, *parts: bytes) -> bytes:
    """HMAC-SHA256 over these parts in a row."""
    return hmac.digest(key, b"".join(parts), hashlib.sha256)


def ecdsa(pem: bytes, message: bytes) -> bytes:
    """An ECDSA signature (DER) over the SHA-256 of the message."""
    return _private(pem).sign(message, ec.ECDSA(hashes.SHA256()))


def _pair(private: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> Secret:
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    secret = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return Secret(public, secret)


@cache
def _private(pem: bytes) -> Any:
    return serialization.load_pem_private_key(pem, None)


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _shopify(given: Delivery) -> Headers:
    return (
        ("X-Shopify-Topic", given.event),
        ("X-Shopify-Webhook-Id", given.id),
        ("X-Shopify-Shop-Domain", "example-shop.test"),
        ("X-Shopify-API-Version", "2024-01"),
        ("X-Shopify-Hmac-Sha256", _base64(hmac_of(given.key, given.body))),
    )


def _sendgrid(given: Delivery) -> Headers:
    stamp = str(given.now_s)
    proof = ecdsa(given.key, stamp.encode() + given.body)
    return (
        ("X-Twilio-Email-Event-Webhook-Timestamp", stamp),
        ("X-Twilio-Email-Event-Webhook-Signature", _base64(proof)),
    )


def _github(given: Delivery) -> Headers:
    proof = hmac_of(given.key, given.body).hex()
    return (
        ("X-GitHub-Event", given.event),
        ("X-GitHub-Delivery", given.id),
        ("X-Hub-Signature-256", f"sha256={proof}"),
    )


def _gitea(given: Delivery) -> Headers:
    return (
        ("X-Gitea-Event", given.event),
        ("X-Gitea-Delivery", given.id),
        ("X-Gitea-Signature", hmac_of(given.key, given.body).hex()),
    )


def _gitlab(given: Delivery) -> Headers:
    return (
        ("X-Gitlab-Event", given.event),
        ("Idempotency-Key", given.id),
        ("X-Gitlab-Token", given.key.decode()),
    )


def _slack(given: Delivery) -> Headers:
    stamp = str(given.now_s)
    proof = hmac_of(given.key, b"v0:", stamp.encode(), b":", given.body).hex()
    return ("X-Slack-Request-Timestamp", stamp), ("X-Slack-Signature", f"v0={proof}")


def _stripe(given: Delivery) -> Headers:
    proof = hmac_of(given.key, b"%d." % given.now_s, given.body).hex()
    return (("Stripe-Signature", f"t={given.now_s},v1={proof}"),)


def _standard(given: Delivery) -> Headers:
    key = base64.b64decode(given.key.removeprefix(b"whsec_"))
    proof = hmac_of(key, f"{given.id}.{given.now_s}.".encode(), given.body)
    return (
        ("webhook-id", given.id),
        ("webhook-timestamp", str(given.now_s)),
        ("webhook-signature", f"v1,{_base64(proof)}"),
    )


def _hmac(given: Delivery) -> Headers:
    return (("X-Hub-Signature-256", f"sha256={hmac_of(given.key, given.body).hex()}"),)


def _token(given: Delivery) -> Headers:
    return (("Authorization", f"Bearer {given.key.decode()}"),)


def _basic(given: Delivery) -> Headers:
    return (("Authorization", f"Basic {_base64(given.key)}"),)


def _jwt(given: Delivery) -> Headers:
    claims = {"iat": given.now_s, "exp": given.now_s + 300, "sub": "tests", "aud": "router"}
    parts = [{"alg": "EdDSA", "typ": "JWT"}, claims]
    message = b".".join(_unpadded(json.dumps(one).encode()) for one in parts)
    proof = _unpadded(_private(given.key).sign(message))
    return (("Authorization", f"Bearer {message.decode()}.{proof.decode()}"),)


def _unpadded(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


SENDERS: dict[str, Callable[[Delivery], Headers]] = {
    "commerce": _shopify,
    "email": _sendgrid,
    "code-host": _github,
    "gitea": _gitea,
    "gitlab": _gitlab,
    "slack": _slack,
    "stripe": _stripe,
    "standard-webhooks": _standard,
    "hmac": _hmac,
    "token": _token,
    "basic": _basic,
    "jwt": _jwt,
}
"""How each signs, by the name of its definition."""
