"""
The way of proof `jwt`: a bearer token signed by a key of a key set, or by a shared secret.

Never by either: a public key can then not be taken for a shared secret. PyJWT (extra `jwt`) checks
what key pairs have signed; times and claims are checked here, by the clock we are given.
"""

import hashlib
import hmac
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import msgspec

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers import ed25519, keys, rsa
from router.providers.credentials import led
from router.providers.definition import Definition, VerifyRule, duration_s
from router.providers.headers import Spellings
from router.providers.keys import UnusableKeyError
from router.providers.scheme import Found, Scheme
from router.providers.signatures import decode_base64url, encode
from router.providers.waiting import UNKNOWN_KEY, PublishedKey, Verdict, Waiting

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
    """What is read of a token's claims; times in Unix seconds. No number is beyond a float's."""

    exp: float | None = None
    nbf: float | None = None
    iss: str | None = None
    aud: str | list[str] | None = None


class Head(msgspec.Struct, frozen=True):
    """What is read of a token's head. A token with critical extensions is not understood."""

    alg: str
    kid: str | None = None
    crit: Any = None


class Token(msgspec.Struct, frozen=True):
    """A token that was read and is not yet believed; `text` is all of it, `body` what it says."""

    text: bytes
    head: Head
    claims: Claims
    body: bytes


class Moment(NamedTuple):
    """What a token must hold for: this body, at this time, give or take the leeway (seconds)."""

    body: bytes
    now_s: float
    leeway_s: float


class JwtScheme(Scheme):
    """Verifies by a bearer token."""

    def __init__(self, definition: Definition, rule: VerifyRule, known: Spellings) -> None:
        super().__init__(definition, rule, known)
        self._leeway_s = 0 if rule.tolerance is None else duration_s(rule.tolerance)
        self._fits = _signed_by_secret if rule.shared else _signed
        self._whose = "the secret" if rule.shared else "any key of the key set"
        self._hash = rule.body_hash.claim if rule.body_hash is not None else ""

    def verify(
        self,
        found: Found,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        now_ms: int,
        tolerance_s: int | None,
    ) -> Verdict:
        """Verified by the first key set or secret that fits, or why not."""
        if not (text := found.get(self._header)):
            return self.missing(found, request, "no bearer token came")
        token = self._read(led(text, self._lead))
        if isinstance(token, Refused):
            return token
        leeway_s = self._leeway_s if tolerance_s is None else tolerance_s
        moment = Moment(request.body, now_ms / 1000, leeway_s)
        if self.rule.jwks_url is None:
            return self._judged(token, moment, secrets)
        return Waiting(PublishedKey(self.rule.jwks_url), partial(self._published, token, moment))

    def _read(self, text: bytes | None) -> Token | Refused:
        """The token, if it is one that could be believed."""
        token = _token(text) if text is not None and len(text) <= TOKEN_BYTES_MAX else None
        if token is None or (token.claims.exp is None and not self._hash):
            return self.refused("malformed_signature", "malformed: not a bearer token (JWT)")
        if token.head.alg not in self.rule.algorithms or token.head.crit is not None:
            return self.refused(
                "malformed_signature",
                f"the token's algorithm is none of {' '.join(self.rule.algorithms)}",
            )
        return token

    def _published(self, token: Token, moment: Moment, key_set: bytes | None) -> Verified | Refused:
        """The verdict by the key set that the sender publishes, None while nobody knows it."""
        known = keys.parsed(load_keys, key_set) if key_set is not None else None
        if known is not None and any(_is_meant(key, token.head) for key in known):
            return self._judged(token, moment, (LiveSecret("jwks_url", key_set or b""),))
        # What cannot hold whoever has signed it is worth no fetch.
        if (refused := self._claimed(token, moment)) is not None:
            return refused
        what = "the key set" if known is None else "a key of this id"
        return Refused(UNKNOWN_KEY, 503, f"{what} at {self.rule.jwks_url} is not known yet")

    def _judged(
        self, token: Token, moment: Moment, secrets: Sequence[LiveSecret]
    ) -> Verified | Refused:
        fitting = [s for s in secrets if self._fits(s.value, token)]
        if not fitting:
            return self.refused("bad_signature", f"not signed by {self._whose}")
        return self._claimed(token, moment) or Verified(fitting[0].name)

    def _claimed(self, token: Token, moment: Moment) -> Refused | None:
        """Why a token that is genuine does not hold here and now, if so."""
        issuer, audience, claims = self.rule.issuer, self.rule.audience, token.claims
        meant = [claims.aud] if isinstance(claims.aud, str) else claims.aud or []
        _, now_s, leeway_s = moment
        late = claims.exp is not None and claims.exp + leeway_s <= now_s
        early = claims.nbf is not None and claims.nbf - leeway_s > now_s
        # A token for somebody else must not pass here, even where we name no audience.
        elsewhere = (audience is not None or meant) and audience not in meant
        other_issuer = issuer is not None and claims.iss != issuer
        faults = (
            (late, "expired_token", "the token has expired"),
            (early, "expired_token", "the token is not valid yet"),
            (other_issuer, "wrong_claims", "the token is another issuer's"),
            (elsewhere, "wrong_claims", "the token is for another audience"),
        )
        found = next((self.refused(reason, hint) for wrong, reason, hint in faults if wrong), None)
        return found or self._further(token, moment.body)

    def _further(self, token: Token, body: bytes) -> Refused | None:
        """The same of the claims that a definition names, and of the body's hash."""
        if not self.rule.claims and not self._hash:
            return None
        given = msgspec.json.decode(token.body)
        for name, value in self.rule.claims.items():
            # True equals 1, and is not the same.
            if (type(given.get(name)), given.get(name)) != (type(value), value):
                return self.refused("wrong_claims", f"the token's `{name}` is another")
        if self._hash and given.get(self._hash) != hashlib.sha256(body).hexdigest():
            return self.refused("bad_signature", "body altered: the token was made for another")
        return None


def _token(text: bytes) -> Token | None:
    """Head and claims, read but not yet believed."""
    pieces = text.split(b".")
    if len(pieces) != 3 or b"=" in pieces[0] + pieces[1]:
        return None
    head, body = (decode_base64url(piece) or b"" for piece in pieces[:2])
    try:
        claims = msgspec.convert(msgspec.json.decode(body), Claims)
        return Token(text, msgspec.json.decode(head, type=Head), claims, body)
    except (ValueError, RecursionError):
        return None


def _signed(key_set: bytes, token: Token) -> bool:
    """Has any key of the set signed the token? All that may have are tried."""
    known = keys.parsed(load_keys, key_set) or ()
    meant = [key for key in known if _is_meant(key, token.head)]
    return True in [_fits(key, token.text, token.head.alg) for key in meant]


def _is_meant(key: Key, head: Head) -> bool:
    return (None in (key.id, head.kid) or key.id == head.kid) and key.algorithm == head.alg


def _signed_by_secret(secret: bytes, token: Token) -> bool:
    """Is this the HMAC (HS256) of head and claims by the secret?"""
    signed, _, shown = token.text.rpartition(b".")
    try:
        right = hmac.digest(keys.shared(secret, "text"), signed, "sha256")
        return hmac.compare_digest(right, decode_base64url(shown) or b"")
    except UnusableKeyError:
        return False


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

    if not isinstance(entry, dict) or "d" in entry:
        return None
    kind = entry.get("kty")
    algorithm = _KINDS.get(kind) if isinstance(kind, str) else None
    if algorithm is None:
        return None
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


def token(rule: VerifyRule, key: bytes, now_ms: int, body: bytes = b"") -> str:
    """
    A bearer token that holds for five minutes, for this body where the rule says so; `key` is a
    private PEM, for HS256 the secret.

    Raises:
        UnusableKeyError: the key cannot sign, or the extra is not installed.
    """
    now_s = now_ms // 1000
    claims: dict[str, Any] = {"iat": now_s, "exp": now_s + 300, "sub": "router-send"}
    claims |= named_claims(rule)
    if rule.body_hash is not None and rule.body_hash.claim:
        claims[rule.body_hash.claim] = hashlib.sha256(body).hexdigest()
    if rule.shared:
        return _by_secret(keys.shared(key, "text"), msgspec.json.encode(claims))
    if find_spec("jwt") is None:
        raise UnusableKeyError(INSTALL)
    import jwt  # noqa: PLC0415

    algorithm, private = load_private(key)
    return jwt.PyJWS().encode(msgspec.json.encode(claims), private, algorithm=algorithm)


def named_claims(rule: VerifyRule) -> dict[str, Any]:
    """The claims that a token must have."""
    named = {"iss": rule.issuer, "aud": rule.audience}
    return {name: value for name, value in named.items() if value is not None} | rule.claims


def _by_secret(secret: bytes, claims: bytes) -> str:
    parts = [encode(part, "base64url") for part in (b'{"alg":"HS256","typ":"JWT"}', claims)]
    signed = b".".join(parts)
    return b".".join((signed, encode(hmac.digest(secret, signed, "sha256"), "base64url"))).decode()


def invent(algorithms: Sequence[str], rng_bytes: Callable[[int], bytes]) -> bytes:
    """A private PEM for one of the algorithms: the quickest to make."""
    if "EdDSA" in algorithms:
        return ed25519.invent(rng_bytes)
    if "ES256" in algorithms:
        return keys.invent(rng_bytes)
    return rsa.invent(rng_bytes)


def key_set_of(pem: bytes) -> bytes:
    """The public half of a private PEM, as a PEM."""
    return keys.public_pem(load_private(pem)[1])


BEFORE_S, LIFE_S = 60, 9 * 60
"""From a minute ago on, as clocks differ; a token that is good for longer is refused."""


def app_token(app: str, private_key: bytes, now_ms: int) -> str:
    """
    Proves an app to its sender's API: a JWT, good for some minutes (RFC 7519).

    Raises:
        UnusableKeyError: that is no RSA private key.
    """
    now = now_ms // 1000
    claims = {"iat": now - BEFORE_S, "exp": now + LIFE_S, "iss": app}
    parts = (b'{"alg":"RS256","typ":"JWT"}', msgspec.json.encode(claims))
    signed = b".".join([encode(part, "base64url") for part in parts])
    signature = rsa.sign(private_key, hashlib.sha256(signed).digest(), "sha256", "pkcs1")
    return b".".join((signed, encode(signature, "base64url"))).decode("ascii")
