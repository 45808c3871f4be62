"""
Keys as users paste them: shared ones, P-256 ones (public, and private), and what all share.

cryptography costs tens of milliseconds to import, so it is imported where a key is first used:
`check` on a file without such a provider never pays.
"""

import binascii
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec

KEY_BYTES_MAX = 8 * 1024
RSA_BITS_MIN = 2048

_ARMOUR = re.compile(
    rb"-----BEGIN ([A-Z0-9 ]{1,40})-----(.*?)-----END ([A-Z0-9 ]{1,40})-----", re.DOTALL
)
_WHOLE_PEM = re.compile(
    rb"\s*-----BEGIN PUBLIC KEY-----\r?\n(?:[A-Za-z0-9+/=]{1,76}\r?\n)+-----END PUBLIC KEY-----\s*"
)
_HEX = re.compile(rb"(?:[0-9A-Fa-f]{2}){32,}")
_ARMOUR_HEAD = re.compile(rb"----[- ]BEGIN ([A-Z0-9 ]{0,40})")
_SSH = re.compile(
    rb"(?:^|\s)(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+\s+AAAA|^\0{3}.(?:ssh|ecdsa|sk)-"
)
_KEY_DER = re.compile(
    rb"\x30(?:([\x28-\x7f])|\x81(.)|\x82(..))"
    rb"(?:\x30(?:.|\x81.|\x82..)[\x02\x06\xa0]|\x02[\x81\x82]|\x02\x01[\0\1][\x02\x04\x30])",
    re.DOTALL,
)
"""How SubjectPublicKeyInfo and certificates begin, PKCS #1, then PKCS #8, SEC 1 and PKCS #1."""
FROM_URL = bytes.maketrans(b"-_", b"+/")
_LOST_BREAKS = re.compile(rb"\\r|\\n|\s")
_POINT_HEAD = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
"""What stands before the 65 bytes of a point on P-256 in DER (RFC 5480)."""
_POINT_BYTES = 65
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class UnusableKeyError(ValueError):
    """A text that is not the key it should be; the message says what it is instead."""


PUBLIC_MARK = b"whpk_"
PRIVATE_MARK = b"whsk_"
SHARED_MARK = b"whsec_"
"""How Standard Webhooks begin their keys: public, private, shared."""


def is_empty(secret: bytes) -> bool:
    """Is there nothing, or only white space, or only the mark that secrets begin with?"""
    return secret.strip() in (b"", SHARED_MARK)


@lru_cache(maxsize=256)
def kind_of_pair(secret: bytes) -> str | None:
    """
    What a text is that is half of a key pair, or a certificate; None for all others. It may stand
    in base64 or hex. Of 32 bare bytes nobody can tell whether they are a public key.
    """
    text = secret.strip()
    if text.startswith((PUBLIC_MARK, PRIVATE_MARK)):
        return f"marked `{text[:5].decode()}`"
    bare = _LOST_BREAKS.sub(b"", text.removeprefix(SHARED_MARK)).translate(FROM_URL).rstrip(b"=")
    kinds = [_kind_of(secret)]
    for unpack in (binascii.unhexlify, _from_base64):
        with suppress(binascii.Error):
            kinds.append(_kind_of(unpack(bare)))
    return next(filter(None, kinds), None)


def _kind_of(text: bytes) -> str | None:
    if (armour := _ARMOUR_HEAD.search(text)) is not None:
        return f"a PEM ({armour[1].decode().strip()})"
    if _SSH.search(text) is not None:
        return "an SSH key"
    if _is_jwk(text):
        return "a JSON key (JWK)"
    return "a key or a certificate in DER" if _is_key_der(text) else None


def _is_jwk(text: bytes) -> bool:
    try:
        found = msgspec.json.decode(text) if text.lstrip()[:1] in (b"{", b"[") else None
    except (ValueError, RecursionError):
        return False
    entries = found.get("keys", [found]) if isinstance(found, dict) else found
    listed = entries if isinstance(entries, list) else []
    return any(isinstance(e, dict) and e.get("kty", "oct") != "oct" for e in listed)


def _is_key_der(der: bytes) -> bool:
    """Does it begin as a key or a certificate, and is it as long as it says?"""
    if (head := _KEY_DER.match(der)) is None or head.lastindex is None:
        return False
    return head.end(head.lastindex) + int.from_bytes(head[head.lastindex]) == len(der)


def shared(secret: bytes, form: str) -> bytes:
    """
    The bytes of an HMAC secret, written as `text`, `base64` (after `whsec_` or not) or `hex`.

    Raises:
        UnusableKeyError: it is empty, a key of a pair, or not written so.
    """
    if is_empty(secret):
        raise UnusableKeyError("the secret is empty")
    if (kind := kind_of_pair(secret)) is not None:
        # Whoever knows a public key could sign with it, were it taken for a shared secret.
        raise UnusableKeyError(
            f"this is {kind}: a key of a pair, not a secret that both sides hold "
            "(a public key belongs to the schemes rsa, ecdsa, ed25519 and jwt)"
        )
    if form == "text":
        return secret
    try:
        raw = binascii.unhexlify(secret.strip()) if form == "hex" else _from_base64(secret)
    except ValueError:
        raise UnusableKeyError(f"the secret is not {form}: copy it again, whole") from None
    if not raw:  # pragma: no cover - no text decodes to nothing, and no empty key may ever count
        raise UnusableKeyError("the secret is empty")
    return raw


def _from_base64(secret: bytes) -> bytes:
    text = secret.strip().removeprefix(SHARED_MARK)
    return binascii.a2b_base64(text + b"=" * (-len(text) % 4), strict_mode=True)


class MendedKey(msgspec.Struct, frozen=True):
    """A public key as DER, and what had to be mended (None: nothing)."""

    der: bytes
    warning: str | None


def mend(text: bytes) -> MendedKey:
    """
    The DER bytes in a PEM, in bare base64, with or without its line breaks, or in hexadecimal.

    Raises:
        UnusableKeyError: it is something else.
    """
    if len(text) > KEY_BYTES_MAX:
        raise UnusableKeyError(f"a public key is shorter than {KEY_BYTES_MAX} bytes")
    if _HEX.fullmatch(stripped := text.strip()):
        return MendedKey(binascii.unhexlify(stripped), None)
    if b"-----BEGIN" not in text:
        broken = _LOST_BREAKS.search(stripped) is not None
        warning = "the key's base64 holds line breaks or spaces; mended" if broken else None
        return MendedKey(bare_base64(stripped), warning)
    if (armour := _ARMOUR.search(text)) is None or armour[1] != armour[3]:
        raise UnusableKeyError("the PEM has no end: its last line is `-----END PUBLIC KEY-----`")
    label = armour[1].decode("ascii")
    if "PRIVATE" in label:
        raise UnusableKeyError("this is a private key; the sender shows the public one")
    if label != "PUBLIC KEY":
        raise UnusableKeyError(f"the PEM holds a {label}, not a PUBLIC KEY")
    warning = None if _WHOLE_PEM.fullmatch(text) else "the PEM lost its line breaks; mended"
    return MendedKey(bare_base64(armour[2]), warning)


def bare_base64(text: bytes) -> bytes:
    """
    The bytes of base64, line breaks and spaces taken out.

    Raises:
        UnusableKeyError: it is not base64.
    """
    try:
        return binascii.a2b_base64(_LOST_BREAKS.sub(b"", text), strict_mode=True)
    except binascii.Error:
        raise UnusableKeyError("the key is not base64: copy it again, whole") from None


def load_public(text: bytes) -> Any:
    """
    The key in a PEM or bare base64, mended if need be.

    Raises:
        UnusableKeyError: it is no P-256 public key.
    """
    der = mend(text).der
    key = any_public(_POINT_HEAD + der if len(der) == _POINT_BYTES else der)
    if algorithm_of(key) != "ES256":
        raise UnusableKeyError("the key is not an elliptic-curve key on P-256")
    return key


def load_private(pem: bytes) -> Any:
    """
    The key in a PEM.

    Raises:
        UnusableKeyError: it is no P-256 private key.
    """
    key = any_private(pem)
    if algorithm_of(key.public_key()) != "ES256":
        raise UnusableKeyError("the private key is not on P-256")
    return key


def any_public(der: bytes) -> Any:
    """
    The public key of any kind in these bytes.

    Raises:
        UnusableKeyError: they are none.
    """
    return loaded("load_der_public_key", der, "this is no public key")


def any_private(pem: bytes) -> Any:
    """
    The private key of any kind in a PEM.

    Raises:
        UnusableKeyError: it is none.
    """
    return loaded("load_pem_private_key", pem, "this is no private key in PEM form", None)


def loaded(loader: str, text: bytes, fault: str, *given: Any) -> Any:
    """
    The key that this function of cryptography's finds in the text.

    Raises:
        UnusableKeyError: it finds none; the message is `fault`.
    """
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 (costly, see above)
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    try:
        return getattr(serialization, loader)(text, *given)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise UnusableKeyError(fault) from None


def algorithm_of(key: Any) -> str | None:
    """The one algorithm that a public key is for; None for a weak or unknown key."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: PLC0415

    if isinstance(key, rsa.RSAPublicKey):
        return "RS256" if key.key_size >= RSA_BITS_MIN else None
    if isinstance(key, ec.EllipticCurvePublicKey):
        return "ES256" if isinstance(key.curve, ec.SECP256R1) else None
    return "EdDSA" if isinstance(key, ed25519.Ed25519PublicKey) else None


def public_pem(private: Any) -> bytes:
    """The public half of a private key of any kind, as a PEM."""
    from cryptography.hazmat.primitives import serialization as s  # noqa: PLC0415

    public = private.public_key()
    return bytes(public.public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))


def private_pem(private: Any) -> bytes:
    """A private key of any kind as a PEM."""
    from cryptography.hazmat.primitives import serialization as s  # noqa: PLC0415

    form = (s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    return bytes(private.private_bytes(*form))


@lru_cache(maxsize=512)
def parsed(load: Callable[[bytes], Any], text: bytes) -> Any:
    """
    What `load` makes of public keys, None for unusable ones. Each is parsed once: they are no
    secrets, so keeping them is harmless.
    """
    try:
        return load(text)
    except UnusableKeyError:
        return None


def is_signed(load: Callable[[bytes], Any], text: bytes, signature: bytes, *signed: Any) -> bool:
    """Did the owner of the public key sign this? False for a broken key or signature."""
    if (key := parsed(load, text)) is None:
        return False
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    try:
        key.verify(signature, *signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def verifies(text: bytes, signature: bytes, hashed: bytes, algorithm: str = "sha256") -> bool:
    """Did the key's owner sign this digest? False for a broken key or signature."""
    return is_signed(load_public, text, signature, hashed, _prehashed(algorithm))


def sign(pem: bytes, hashed: bytes, algorithm: str = "sha256") -> bytes:
    """
    A signature (DER) over the digest.

    Raises:
        UnusableKeyError: the PEM is no P-256 private key.
    """
    return bytes(load_private(pem).sign(hashed, _prehashed(algorithm)))


def prehashed(algorithm: str) -> Any:
    """What cryptography calls a digest that is made already."""
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import utils  # noqa: PLC0415

    return utils.Prehashed(getattr(hashes, algorithm.upper())())


def public_of(private: bytes) -> bytes:
    """The public PEM that belongs to a private one."""
    return public_pem(load_private(private))


def invent(rng_bytes: Callable[[int], bytes]) -> bytes:
    """A private PEM made of 40 random bytes; the extra eight make the bias vanish."""
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    number = int.from_bytes(rng_bytes(40), "big") % (_P256_ORDER - 1) + 1
    return private_pem(ec.derive_private_key(number, ec.SECP256R1()))


@lru_cache(maxsize=4)
def _prehashed(algorithm: str) -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    return ec.ECDSA(prehashed(algorithm))
