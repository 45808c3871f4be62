"""
Ed25519 keys: public ones as users paste them, private ones that sign test deliveries.

A public key is a PEM, base64 of its DER, or its 32 bytes in base64 (after `whpk_` or not) or hex.
A private one is a PEM, or in base64 after `whsk_`. cryptography is imported where a key is first
used, as in `router.providers.keys`.
"""

import binascii
import re
from collections.abc import Callable
from typing import Any

from router.providers.keys import (
    KEY_BYTES_MAX,
    PRIVATE_MARK,
    PUBLIC_MARK,
    UnusableKeyError,
    algorithm_of,
    any_private,
    any_public,
    bare_base64,
    is_signed,
    mend,
    private_pem,
)

SIGNATURE_BYTES = 64
KEY_BYTES = 32
_DER_HEAD = bytes.fromhex("302a300506032b6570032100")
"""What stands before the 32 bytes of a public key in DER (RFC 8410)."""
_HEX = re.compile(rb"[0-9A-Fa-f]{64}")


def load_public(text: bytes) -> Any:
    """
    The key in any of its forms.

    Raises:
        UnusableKeyError: it is no Ed25519 public key.
    """
    found = _raw_or_der(text)
    key = any_public(_DER_HEAD + found if len(found) == KEY_BYTES else found)
    if algorithm_of(key) != "EdDSA":
        raise UnusableKeyError("the key is not an Ed25519 key")
    return key


def _raw_or_der(text: bytes) -> bytes:
    stripped = text.strip()
    if len(stripped) > KEY_BYTES_MAX:
        raise UnusableKeyError(f"a public key is shorter than {KEY_BYTES_MAX} bytes")
    if stripped.startswith(PRIVATE_MARK):
        raise UnusableKeyError("this is a private key; the sender shows the public one")
    if stripped.startswith(PUBLIC_MARK):
        return bare_base64(stripped.removeprefix(PUBLIC_MARK))
    return binascii.unhexlify(stripped) if _HEX.fullmatch(stripped) else mend(stripped).der


def verifies(text: bytes, signature: bytes, message: bytes) -> bool:
    """Did the key's owner sign this? False for a broken key or signature."""
    return is_signed(load_public, text, signature, message)


def sign(private: bytes, message: bytes) -> bytes:
    """
    A signature over the message.

    Raises:
        UnusableKeyError: the text is no Ed25519 private key.
    """
    return bytes(load_private(private).sign(message))


def load_private(text: bytes) -> Any:
    """
    The private key in a PEM or after `whsk_`.

    Raises:
        UnusableKeyError: it is none.
    """
    stripped = text.strip()
    if stripped.startswith(PRIVATE_MARK):
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 (costly)

        # Some write the public half behind the private one.
        raw = bare_base64(stripped.removeprefix(PRIVATE_MARK))[:KEY_BYTES]
        if len(raw) < KEY_BYTES:
            raise UnusableKeyError("this is no private key in PEM form")
        return ed25519.Ed25519PrivateKey.from_private_bytes(raw)
    key = any_private(text)
    if algorithm_of(key.public_key()) != "EdDSA":
        raise UnusableKeyError("the private key is not an Ed25519 one")
    return key


def public_of(private: bytes) -> bytes:
    """The public key that belongs to a private one, after `whpk_`."""
    from cryptography.hazmat.primitives import serialization as s  # noqa: PLC0415

    return PUBLIC_MARK + binascii.b2a_base64(
        load_private(private).public_key().public_bytes(s.Encoding.Raw, s.PublicFormat.Raw),
        newline=False,
    )


def invent(rng_bytes: Callable[[int], bytes]) -> bytes:
    """A private PEM made of 32 random bytes."""
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

    return private_pem(ed25519.Ed25519PrivateKey.from_private_bytes(rng_bytes(KEY_BYTES)))
