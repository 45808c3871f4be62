"""
Signatures as bytes: strict decoding, and one check for each scheme.

A check takes (secret, signatures, message parts) and says whether any of them is right; it never
raises, and looks at all of them. The message stays in parts so that a body of 25 MiB is not
copied to put a timestamp before it.
"""

import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence
from functools import lru_cache

from router.providers import ed25519, keys, rsa
from router.providers.definition import VerifyRule

Message = Sequence[bytes]
Candidates = tuple[bytes, ...]
Check = Callable[[bytes, Candidates, Message], bool]

SMALL_BYTES = 32_768
_PIECE = 2_047


def decode_hex(text: bytes) -> bytes | None:
    """Lower-case hexadecimal only: what the senders write, and nothing that merely equals it."""
    try:
        raw = binascii.unhexlify(text)
    except ValueError:
        return None
    return raw if raw and text.lower() == text else None


def decode_hex_upper(text: bytes) -> bytes | None:
    """Upper-case hexadecimal only."""
    try:
        raw = binascii.unhexlify(text)
    except ValueError:
        return None
    return raw if raw and text.upper() == text else None


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


def decode_base64url(text: bytes) -> bytes | None:
    """The URL-safe alphabet, with its padding or without any; canonical else."""
    if b"+" in text or b"/" in text:
        return None
    padded = text if b"=" in text else text + b"=" * (-len(text) % 4)
    return decode_base64(padded.translate(keys.FROM_URL))


_TO_URL = bytes.maketrans(b"+/", b"-_")

DECODERS: dict[str, Callable[[bytes], bytes | None]] = {
    "hex": decode_hex,
    "hex_upper": decode_hex_upper,
    "base64": decode_base64,
    "base64url": decode_base64url,
}


def encode(raw: bytes, encoding: str) -> bytes:
    """The text of a signature as its sender writes it."""
    if encoding in ("hex", "hex_upper"):
        text = raw.hex().encode()
        return text if encoding == "hex" else text.upper()
    text = binascii.b2a_base64(raw, newline=False)
    return text.translate(_TO_URL).rstrip(b"=") if encoding == "base64url" else text


def hmac_digest(algorithm: str, form: str, secret: bytes, message: Message) -> bytes | None:
    """
    The HMAC of the message's parts, one after the other; None if the secret cannot be a key.

    Hashing over 2,047 bytes in one call lets other threads in and then waits for them: many times
    the work itself for a small body, and right for a large one.
    """
    if (keyed := _keyed(secret, algorithm, form)) is None:
        return None
    mac = keyed.copy()
    for part in message:
        if len(part) <= SMALL_BYTES:
            for start in range(0, len(part), _PIECE):
                mac.update(part[start : start + _PIECE])
        else:
            mac.update(part)
    return mac.digest()


@lru_cache(maxsize=256)
def _keyed(secret: bytes, algorithm: str, form: str) -> hmac.HMAC | None:
    """The state after the key, which every delivery of an endpoint shares."""
    try:
        return hmac.new(keys.shared(secret, form), digestmod=algorithm)
    except keys.UnusableKeyError:
        return None


def hmac_check(algorithm: str, form: str) -> Check:
    """Equal digests, compared in constant time."""
    equal = hmac.compare_digest

    def check(secret: bytes, signatures: Candidates, message: Message) -> bool:
        if (right := hmac_digest(algorithm, form, secret, message)) is None:
            return False
        if len(signatures) == 1:
            return equal(right, signatures[0])
        return True in [equal(right, signature) for signature in signatures]

    return check


def digest(message: Message, algorithm: str = "sha256") -> bytes:
    """The hash over the message's parts."""
    hashed = hashlib.new(algorithm)
    for part in message:
        hashed.update(part)
    return hashed.digest()


def ecdsa_check(algorithm: str) -> Check:
    """A P-256 signature (DER) by the owner of the public key; a broken key says no."""

    def check(secret: bytes, signatures: Candidates, message: Message) -> bool:
        hashed = digest(message, algorithm)
        return True in [keys.verifies(secret, one, hashed, algorithm) for one in signatures]

    return check


def rsa_check(algorithm: str, padding: str) -> Check:
    """An RSA signature by the owner of the public key; a broken key says no."""

    def check(secret: bytes, signatures: Candidates, message: Message) -> bool:
        hashed = digest(message, algorithm)
        return True in [rsa.verifies(secret, one, hashed, algorithm, padding) for one in signatures]

    return check


def ed25519_check(secret: bytes, signatures: Candidates, message: Message) -> bool:
    """An Ed25519 signature by the owner of the public key `secret`; a broken key says no."""
    whole = b"".join(message)
    return True in [ed25519.verifies(secret, signature, whole) for signature in signatures]


def check_for(rule: VerifyRule) -> Check:
    """The check of a scheme that signs."""
    if rule.scheme == "hmac":
        return hmac_check(rule.algorithm, rule.key)
    if rule.scheme == "rsa":
        return rsa_check(rule.algorithm, rule.padding)
    return ecdsa_check(rule.algorithm) if rule.scheme == "ecdsa" else ed25519_check


def sign(rule: VerifyRule, key: bytes, message: Message) -> bytes:
    """
    A signature as its sender makes it.

    Raises:
        UnusableKeyError: the key cannot sign.
    """
    if rule.scheme == "ecdsa":
        return keys.sign(key, digest(message, rule.algorithm), rule.algorithm)
    if rule.scheme == "rsa":
        return rsa.sign(key, digest(message, rule.algorithm), rule.algorithm, rule.padding)
    if rule.scheme == "ed25519":
        return ed25519.sign(key, b"".join(message))
    if (raw := hmac_digest(rule.algorithm, rule.key, key, message)) is None:
        keys.shared(key, rule.key)  # says what is wrong with it
    return raw or b""


def signature_size(rule: VerifyRule) -> int | None:
    """How many bytes a signature has; None where that varies."""
    if rule.scheme == "hmac":
        return hashlib.new(rule.algorithm).digest_size
    return ed25519.SIGNATURE_BYTES if rule.scheme == "ed25519" else None
