"""
Signatures as bytes: strict decoding, and one check for each scheme.

A check takes (secret, signature, message parts) and says yes or no; it never raises. The message
stays in parts so that a body of 25 MiB is not copied to put a timestamp before it.
"""

import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from router.providers import keys

Message = Sequence[bytes]
Check = Callable[[bytes, bytes, Message], bool]

SMALL_BYTES = 32_768
_PIECE = 2_047
_LOWER_HEX = re.compile(rb"(?:[0-9a-f]{2})+")


def decode_hex(text: bytes) -> bytes | None:
    """Lower-case hexadecimal only: what the senders write, and nothing that merely equals it."""
    return binascii.unhexlify(text) if _LOWER_HEX.fullmatch(text) else None


def decode_base64(text: bytes) -> bytes | None:
    """
    Standard alphabet, padded, canonical; None for everything else.

    Writing the bytes back must give the same text: one signature has one spelling.
    """
    try:
        raw = binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error:
        return None
    return raw if raw and binascii.b2a_base64(raw, newline=False) == text else None


DECODERS: dict[str, Callable[[bytes], bytes | None]] = {
    "hex": decode_hex,
    "base64": decode_base64,
}


def encode(raw: bytes, encoding: str) -> bytes:
    """The text of a signature as its sender writes it."""
    return raw.hex().encode() if encoding == "hex" else binascii.b2a_base64(raw, newline=False)


def hmac_digest(algorithm: str, secret: bytes, message: Message) -> bytes:
    """
    The HMAC of the message's parts, one after the other.

    Hashing over 2,047 bytes in one call lets other threads in and then waits for them: many times
    the work itself for a small body, and right for a large one.
    """
    mac = _keyed(secret, algorithm).copy()
    for part in message:
        if len(part) <= SMALL_BYTES:
            for start in range(0, len(part), _PIECE):
                mac.update(part[start : start + _PIECE])
        else:
            mac.update(part)
    return mac.digest()


@lru_cache(maxsize=256)
def _keyed(secret: bytes, algorithm: str) -> hmac.HMAC:
    """The state after the key, which every delivery of an endpoint shares."""
    return hmac.new(secret, digestmod=algorithm)


def hmac_check(algorithm: str) -> Check:
    """Equal digests, compared in constant time."""

    def check(secret: bytes, signature: bytes, message: Message) -> bool:
        return hmac.compare_digest(hmac_digest(algorithm, secret, message), signature)

    return check


def digest(message: Message) -> bytes:
    """SHA-256 over the message's parts."""
    hashed = hashlib.sha256()
    for part in message:
        hashed.update(part)
    return hashed.digest()


def ecdsa_check(secret: bytes, signature: bytes, message: Message) -> bool:
    """A P-256 signature (DER) by the owner of the public key `secret`; a broken key says no."""
    return keys.verifies(secret, signature, digest(message))


def check_for(scheme: str, algorithm: str) -> Check:
    """The check of a scheme."""
    return ecdsa_check if scheme == "ecdsa" else hmac_check(algorithm)


def signature_size(scheme: str, algorithm: str) -> int | None:
    """How many bytes a signature has; None where that varies."""
    return hashlib.new(algorithm).digest_size if scheme == "hmac" else None
