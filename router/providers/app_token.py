"""The token of an app: a JWT that its private key signs, good for some minutes (RFC 7519)."""

import base64
import hashlib
from collections.abc import Mapping

import msgspec

from router.providers import rsa

BEFORE_S, LIFE_S = 60, 9 * 60
"""From a minute ago on, as clocks differ; a token that is good for longer is refused."""


def app_token(app: str, private_key: bytes, now_ms: int) -> str:
    """
    Proves an app to its sender's API.

    Raises:
        UnusableKeyError: that is no RSA private key.
    """
    now = now_ms // 1000
    head: Mapping[str, object] = {"alg": "RS256", "typ": "JWT"}
    claims: Mapping[str, object] = {"iat": now - BEFORE_S, "exp": now + LIFE_S, "iss": app}
    signed = b".".join(_part(one) for one in (head, claims))
    signature = rsa.sign(private_key, hashlib.sha256(signed).digest(), "sha256", "pkcs1")
    return b".".join((signed, _packed(signature))).decode("ascii")


def _part(value: Mapping[str, object]) -> bytes:
    return _packed(msgspec.json.encode(value))


def _packed(value: bytes) -> bytes:
    return base64.urlsafe_b64encode(value).rstrip(b"=")
