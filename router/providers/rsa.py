"""
RSA keys: public ones as users paste them, private ones that sign test deliveries.

A public key is a PEM, base64 or hex of its DER, or a JSON key (JWK). cryptography is imported
where a key is first used, as in `router.providers.keys`.
"""

import binascii
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from router.providers.keys import (
    FROM_URL,
    KEY_BYTES_MAX,
    RSA_BITS_MIN,
    UnusableKeyError,
    algorithm_of,
    any_private,
    any_public,
    is_signed,
    mend,
    prehashed,
    private_pem,
    public_pem,
)

_EXPONENT = 65_537
_WEAK = f"the key is not an RSA key of {RSA_BITS_MIN} bits or more"


class _Jwk(msgspec.Struct, frozen=True):
    kty: str
    n: str
    e: str


def load_public(text: bytes) -> Any:
    """
    The key in any of its forms.

    Raises:
        UnusableKeyError: it is no RSA public key, or a weak one.
    """
    stripped = text.strip()
    key = _from_json(stripped) if stripped.startswith(b"{") else any_public(mend(stripped).der)
    if algorithm_of(key) != "RS256":
        raise UnusableKeyError(_WEAK)
    return key


def _from_json(text: bytes) -> Any:
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415 (costly)

    if len(text) > KEY_BYTES_MAX:
        raise UnusableKeyError(f"a public key is shorter than {KEY_BYTES_MAX} bytes")
    try:
        jwk = msgspec.json.decode(text, type=_Jwk)
        numbers = rsa.RSAPublicNumbers(_number(jwk.e), _number(jwk.n))
        return numbers.public_key()
    except (ValueError, RecursionError):
        raise UnusableKeyError("this JSON is no RSA public key (JWK)") from None


def _number(text: str) -> int:
    padded = text.encode("ascii") + b"=" * (-len(text) % 4)
    return int.from_bytes(binascii.a2b_base64(padded.translate(FROM_URL), strict_mode=True))


def verifies(text: bytes, signature: bytes, hashed: bytes, algorithm: str, padding: str) -> bool:
    """Did the key's owner sign this digest? False for a broken key or signature."""
    return is_signed(
        load_public, text, signature, hashed, _padding(padding, algorithm), prehashed(algorithm)
    )


def sign(pem: bytes, hashed: bytes, algorithm: str, padding: str) -> bytes:
    """
    A signature over the digest.

    Raises:
        UnusableKeyError: the PEM is no RSA private key.
    """
    private, how = load_private(pem), _padding(padding, algorithm)
    return bytes(private.sign(hashed, how, prehashed(algorithm)))


def _padding(name: str, algorithm: str) -> Any:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415

    if name == "pkcs1":
        return padding.PKCS1v15()
    hashed = getattr(hashes, algorithm.upper())()
    return padding.PSS(padding.MGF1(hashed), hashed.digest_size)


@lru_cache(maxsize=8)
def load_private(pem: bytes) -> Any:
    """
    The key in a PEM. To check one takes 35 ms, and one sender signs many times.

    Raises:
        UnusableKeyError: it is no RSA private key, or a weak one.
    """
    key = any_private(pem)
    if algorithm_of(key.public_key()) != "RS256":
        raise UnusableKeyError(_WEAK)
    return key


def public_of(private: bytes) -> bytes:
    """The public PEM that belongs to a private one."""
    return public_pem(load_private(private))


def invent(rng_bytes: Callable[[int], bytes]) -> bytes:
    """A private PEM; the same one for the same random bytes, as long as this process lives."""
    return _invented(rng_bytes(32))


@lru_cache(maxsize=8)
def _invented(_seed: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415

    return private_pem(rsa.generate_private_key(_EXPONENT, RSA_BITS_MIN))
