"""What secrets must be for each way of proof, and new ones for `--dev` and tests."""

import binascii
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from router.providers import bearer, certificates, certified, ed25519, keys, rsa
from router.providers.definition import Definition, VerifyRule
from router.secrets import WEAK_BYTES

_RandomBytes = Callable[[int], bytes]


class SecretVerdict(msgspec.Struct, frozen=True):
    """Is a secret usable here? `error` says why not, `warning` what should be better."""

    ok: bool
    warning: str | None = None
    error: str | None = None


class Invented(msgspec.Struct, frozen=True):
    """A secret made up: what `verify` needs and what `sign` needs (often the same)."""

    verify: bytes
    sign: bytes

    def __repr__(self) -> str:
        return "Invented(***)"


class KeyPair(NamedTuple):
    """How the keys of a scheme with two halves are read and made."""

    load_public: Callable[[bytes], Any]
    load_private: Callable[[bytes], Any]
    invent: Callable[[VerifyRule, _RandomBytes], bytes]
    public_of: Callable[[bytes], bytes]


_PAIRS = {
    "ecdsa": KeyPair(
        keys.load_public, keys.load_private, lambda _, rng: keys.invent(rng), keys.public_of
    ),
    "ed25519": KeyPair(
        ed25519.load_public,
        ed25519.load_private,
        lambda _, rng: ed25519.invent(rng),
        ed25519.public_of,
    ),
    "rsa": KeyPair(
        rsa.load_public, rsa.load_private, lambda _, rng: rsa.invent(rng), rsa.public_of
    ),
    "jwt": KeyPair(
        bearer.load_keys,
        bearer.load_private,
        lambda rule, rng: bearer.invent(rule.algorithms, rng),
        bearer.key_set_of,
    ),
}


def _pair(rule: VerifyRule) -> KeyPair | None:
    """How the keys of a way with two halves are read; None where the secret is no such key."""
    return None if rule.shared or rule.certificate else _PAIRS.get(rule.scheme)


# -- what users give ------------------------------------------------------------------------------


def verdict_on(definition: Definition, value: bytes) -> SecretVerdict:
    """Could this value verify anything by any of the ways?"""
    if not value.strip():
        return SecretVerdict(False, error="the secret is empty")
    each = [_verdict(rule, value) for rule in definition.ways if _takes_secrets(rule)]
    good = [verdict for verdict in each if verdict.ok]
    if not good:
        return next(iter(each), SecretVerdict(True))
    if _unclear(definition, value):
        return SecretVerdict(
            True, "is it public or shared? write `whpk_` or `whsec_` before it; taken as shared"
        )
    return good[0]


def _takes_secrets(rule: VerifyRule) -> bool:
    return rule.scheme != "none" and not rule.keyless


def _verdict(rule: VerifyRule, value: bytes) -> SecretVerdict:
    try:
        return SecretVerdict(True, _warning(rule, value))
    except keys.UnusableKeyError as e:
        return SecretVerdict(False, error=str(e))


def _warning(rule: VerifyRule, value: bytes) -> str | None:
    """
    What should be better about a secret.

    Raises:
        UnusableKeyError: it cannot verify anything.
    """
    if (pair := _pair(rule)) is not None:
        pair.load_public(value)
        return keys.mend(value).warning if rule.scheme == "ecdsa" else None
    raw = keys.shared(value, rule.key)
    if rule.key == "text" and value != value.strip():
        return "the secret has white space around it, which counts"
    if rule.scheme == "basic" and rule.user is None and b":" not in value:
        raise keys.UnusableKeyError("the secret of `basic` is user:password, or name the `user`")
    if len(raw) < WEAK_BYTES:
        return f"the secret is shorter than {WEAK_BYTES} bytes"
    return None


def _unclear(definition: Definition, value: bytes) -> bool:
    """Bare base64 where either half of a sender's ways could mean it."""
    schemes = {rule.scheme for rule in definition.ways}
    if "ed25519" not in schemes or not any(rule.shared for rule in definition.ways):
        return False
    if value.strip().startswith((keys.SHARED_MARK, keys.PUBLIC_MARK, b"-----BEGIN")):
        return False
    try:
        return len(keys.bare_base64(value)) == ed25519.KEY_BYTES
    except keys.UnusableKeyError:
        return False


# -- what senders sign with -----------------------------------------------------------------------


def can_sign(definition: Definition, key: bytes) -> bool:
    """Could a sender with this key prove itself by any of the ways?"""
    return any(_signs(rule, key) for rule in definition.ways)


def way_of(definition: Definition, key: bytes) -> VerifyRule:
    """The way that a key is for: the one it is marked for, else the first that it could sign."""
    if definition.together:
        return definition.verify
    fitting = [rule for rule in definition.ways if _signs(rule, key)]
    if key.startswith(keys.SHARED_MARK):
        fitting.sort(key=lambda rule: rule.key != "base64")
    return fitting[0] if fitting else definition.verify


def _signs(rule: VerifyRule, key: bytes) -> bool:
    try:
        if rule.shared:
            keys.shared(key, rule.key)
        elif rule.certificate is not None:
            rsa.load_private(certified.parted(key)[1])
        elif (pair := _pair(rule)) is not None:
            pair.load_private(key)
    except keys.UnusableKeyError:
        return False
    return True


# -- new ones -------------------------------------------------------------------------------------


def published(definition: Definition, made: Invented) -> dict[str, bytes]:
    """What the sender publishes who signs with what was made up, by address."""
    found = {}
    for rule in definition.ways:
        if definition.together and rule is not definition.verify:
            made = invented(rule, _of_trials)
        if rule.jwks_url is not None:
            found[rule.jwks_url] = made.verify
        elif rule.introspect is not None:
            found[rule.introspect.url] = made.sign
        elif rule.certificate is not None:
            private = rsa.load_private(certified.parted(made.sign)[1])
            address = certified.address_of(rule.certificate)
            found[address] = certificates.self_signed(private, rule.certificate.names)
    return found


def _of_trials(count: int) -> bytes:
    """The same key for all: no trial makes a certificate for each secret."""
    return (b"trial" * count)[:count]


def trial_key(rule: VerifyRule) -> bytes:
    """What a trial's sender proves itself with beside its signature."""
    return invented(rule, _of_trials).sign


def invented(rule: VerifyRule, rng_bytes: _RandomBytes) -> Invented:
    """A new secret or key pair for a way of proof."""
    if (pair := _pair(rule)) is not None:
        private = pair.invent(rule, rng_bytes)
        return Invented(pair.public_of(private), private)
    raw = rng_bytes(32)
    secret = raw.hex().encode("ascii")
    if rule.certificate is not None:
        return Invented(secret, secret + b"\n" + rsa.invent(_of_trials))
    if rule.key == "base64":
        secret = keys.SHARED_MARK + binascii.b2a_base64(raw, newline=False)
    elif rule.scheme == "basic" and rule.user is None:
        secret = b"router:" + secret
    return Invented(secret, secret)
