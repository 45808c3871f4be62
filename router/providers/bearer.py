"""
The way of proof `jwt`: a bearer token signed by a key of a key set.

Only asymmetric algorithms, so that a public key can never be taken for a shared secret. PyJWT
(extra `jwt`) checks the signature; times and claims are checked here, by the clock we are given.
"""

import binascii
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import msgspec

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers import ed25519, keys
from router.providers.credentials import led
from router.providers.definition import Definition, VerifyRule, duration_s
from router.providers.headers import Spellings
from router.providers.keys import UnusableKeyError
from router.providers.scheme import Found, Scheme

TOKEN_BYTES_MAX = 8192
KEYS_MAX = 32
KEY_SET_BYTES_MAX = 64 * 1024
INSTALL = "bearer tokens need the extra `jwt`: pip install 'webhook-rules-router[jwt]'"

_KINDS = {"RSA": "RS256", "EC": "ES256", "OKP": "EdDSA"}


class Key(msgspec.Struct, frozen=True):
    """A public key of a set: its id (None: any), the one algorithm it is for, and the key."""

    id: str | None
    algorithm: str
    value: Any


class Claims(msgspec.Struct, frozen=True):
    """What is read of a token's claims; times in Unix seconds."""

    exp: int | float
    nbf: int | float | None = None
    iss: str | None = None
    aud: str | list[str] | None = None


class Head(msgspec.Struct, frozen=True):
    """What is read of a token's head. A token with critical extensions is not understood."""

    alg: str
    kid: str | None = None
    crit: Any = None


class JwtScheme(Scheme):
    """Verifies by a bearer token."""

    def __init__(self, definition: Definition, rule: VerifyRule, known: Spellings) -> None:
        super().__init__(definition, rule, known)
        self._leeway_s = 0 if rule.tolerance is None else duration_s(rule.tolerance)

    def verify(
        self,
        found: Found,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        now_ms: int,
        tolerance_s: int | None,
    ) -> Verified | Refused:
        """Verified by the first key set that holds the token's key, or why not."""
        if not (text := found.get(self._header)):
            return self.missing(found, request, "no bearer token came")
        token = led(text, self._lead)
        parts = _parts(token) if token is not None and len(token) <= TOKEN_BYTES_MAX else None
        if token is None or parts is None:
            return self.refused("malformed_signature", "malformed: not a bearer token (JWT)")
        head, claims = parts
        if head.alg not in self._rule.algorithms or head.crit is not None:
            return self.refused(
                "malformed_signature",
                f"the token's algorithm is none of {' '.join(self._rule.algorithms)}",
            )
        fitting = [s for s in secrets if _signed(s.value, token, head)]
        if not fitting:
            return self.refused("bad_signature", "no key of the key set has signed this token")
        leeway_s = self._leeway_s if tolerance_s is None else tolerance_s
        return self._claimed(claims, now_ms / 1000, leeway_s) or Verified(fitting[0].name)

    def _claimed(self, claims: Claims, now_s: float, leeway_s: float) -> Refused | None:
        """Why a token that is genuine does not hold here and now, if so."""
        issuer, audience = self._rule.issuer, self._rule.audience
        meant = [claims.aud] if isinstance(claims.aud, str) else claims.aud or []
        early = claims.nbf is not None and claims.nbf - leeway_s > now_s
        # A token for somebody else must not pass here, even where we name no audience.
        elsewhere = (audience is not None or meant) and audience not in meant
        faults = (
            (claims.exp + leeway_s <= now_s, "expired_token", "the token has expired"),
            (early, "expired_token", "the token is not valid yet"),
            (
                issuer is not None and claims.iss != issuer,
                "wrong_claims",
                "the token is another issuer's",
            ),
            (elsewhere, "wrong_claims", "the token is for another audience"),
        )
        return next((self.refused(reason, hint) for wrong, reason, hint in faults if wrong), None)


def claims_of(token: bytes) -> Claims | None:
    """What a token claims, not yet believed; None if it is no token."""
    parts = _parts(token)
    return None if parts is None else parts[1]


def _parts(token: bytes) -> tuple[Head, Claims] | None:
    """Head and claims, read but not yet believed."""
    pieces = token.split(b".")
    if len(pieces) != 3:
        return None
    try:
        head, claims = (_unpacked(piece) for piece in pieces[:2])
        return msgspec.json.decode(head, type=Head), msgspec.json.decode(claims, type=Claims)
    except (ValueError, RecursionError):
        return None


def _unpacked(piece: bytes) -> bytes:
    if b"+" in piece or b"/" in piece or b"=" in piece:
        raise ValueError
    padded = piece + b"=" * (-len(piece) % 4)
    return binascii.a2b_base64(padded.translate(_FROM_URL), strict_mode=True)


_FROM_URL = bytes.maketrans(b"-_", b"+/")


def _signed(key_set: bytes, token: bytes, head: Head) -> bool:
    """Has any key of the set signed the token? All that may have are tried."""
    known = keys.parsed(load_keys, key_set) or ()
    meant = [key for key in known if None in (key.id, head.kid) or key.id == head.kid]
    return True in [_fits(key, token, head.alg) for key in meant if key.algorithm == head.alg]


def _fits(key: Key, token: bytes, algorithm: str) -> bool:
    import jwt  # noqa: PLC0415 (an extra, and costly)

    try:
        jwt.PyJWS().decode(token, key.value, algorithms=[algorithm])
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError):
        return False
    return True


def load_keys(text: bytes) -> tuple[Key, ...]:
    """
    The keys in a JSON key set, in one JSON key, or in a PEM.

    Raises:
        UnusableKeyError: none of it can be used, or the extra is not installed.
    """
    if find_spec("jwt") is None:
        raise UnusableKeyError(INSTALL)
    if len(text) > KEY_SET_BYTES_MAX:
        raise UnusableKeyError(f"a key set is shorter than {KEY_SET_BYTES_MAX} bytes")
    if b"-----BEGIN" in text:
        return (_from_pem(text),)
    try:
        data = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raise UnusableKeyError("this is neither a JSON key set nor a public key in PEM") from None
    entries = data.get("keys", [data]) if isinstance(data, dict) else []
    listed = entries[:KEYS_MAX] if isinstance(entries, list) else []
    usable = [key for key in map(_from_json, listed) if key is not None]
    if not usable:
        raise UnusableKeyError("the key set holds no public RSA, P-256 or Ed25519 key")
    return tuple(usable)


def _from_json(entry: Any) -> Key | None:
    import jwt  # noqa: PLC0415

    if not isinstance(entry, dict) or entry.get("kty") not in _KINDS or "d" in entry:
        return None
    algorithm = _KINDS[entry["kty"]]
    try:
        value = jwt.PyJWK(entry, algorithm).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError):
        return None
    key_id = entry.get("kid")
    key = Key(key_id if isinstance(key_id, str) else None, algorithm, value)
    return (
        key if keys.algorithm_of(value) == algorithm and entry.get("use", "sig") == "sig" else None
    )


def _from_pem(text: bytes) -> Key:
    value = keys.loaded("load_pem_public_key", text, "the PEM holds no public key")
    if (algorithm := keys.algorithm_of(value)) is None:
        raise UnusableKeyError("the key is not RSA (2048 bits), P-256 or Ed25519")
    return Key(None, algorithm, value)


# -- the sender's side ----------------------------------------------------------------------------


def load_private(pem: bytes) -> tuple[str, Any]:
    """
    The algorithm and the key of a private PEM.

    Raises:
        UnusableKeyError: it is none, or its public half would be refused.
    """
    key = keys.any_private(pem)
    if (algorithm := keys.algorithm_of(key.public_key())) is None:
        raise UnusableKeyError("the key is not RSA (2048 bits), P-256 or Ed25519")
    return algorithm, key


def token(rule: VerifyRule, pem: bytes, now_ms: int) -> str:
    """
    A bearer token that holds for five minutes.

    Raises:
        UnusableKeyError: the key cannot sign, or the extra is not installed.
    """
    if find_spec("jwt") is None:
        raise UnusableKeyError(INSTALL)
    import jwt  # noqa: PLC0415

    algorithm, key = load_private(pem)
    now_s = now_ms // 1000
    claims: dict[str, Any] = {"iat": now_s, "exp": now_s + 300, "sub": "router-send"}
    named = {"iss": rule.issuer, "aud": rule.audience}
    claims |= {name: value for name, value in named.items() if value is not None}
    return jwt.PyJWS().encode(msgspec.json.encode(claims), key, algorithm=algorithm)


def invent(algorithms: Sequence[str], rng_bytes: Callable[[int], bytes]) -> bytes:
    """A private PEM for one of the algorithms: the quickest to make."""
    if "EdDSA" in algorithms:
        return ed25519.invent(rng_bytes)
    if "ES256" in algorithms:
        return keys.invent(rng_bytes)
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415

    return keys.private_pem(rsa.generate_private_key(65_537, keys.RSA_BITS_MIN))


def key_set_of(pem: bytes) -> bytes:
    """The public half of a private PEM, as a PEM."""
    return keys.public_pem(load_private(pem)[1])
