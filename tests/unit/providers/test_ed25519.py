"""Ed25519: every form that a key has, one signature scheme."""

import base64

import pytest
from cryptography.hazmat.primitives import serialization as s

from router.model.delivery import Refused, Verified
from router.providers import Provider, ed25519, keys
from router.providers.keys import UnusableKeyError
from tests.unit.providers.makers import (
    a_definition,
    a_delivery,
    a_provider,
    changed,
    fixed_bytes,
    other_bytes,
    verdict,
)

PRIVATE = ed25519.invent(fixed_bytes)
PUBLIC = ed25519.load_private(PRIVATE).public_key()
RAW = PUBLIC.public_bytes(s.Encoding.Raw, s.PublicFormat.Raw)
PEM = PUBLIC.public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
DER = PUBLIC.public_bytes(s.Encoding.DER, s.PublicFormat.SubjectPublicKeyInfo)
FORMS = (
    PEM,
    PEM.replace(b"\n", b"\\n"),
    base64.b64encode(DER),
    base64.b64encode(RAW),
    b"whpk_" + base64.b64encode(RAW),
    b" whpk_" + base64.b64encode(RAW) + b"\n",
    RAW.hex().encode(),
    RAW.hex().upper().encode(),
)
SIGNED = Provider(
    a_definition(
        verify={
            "scheme": "ed25519",
            "header": "X-Signature-Ed25519",
            "timestamp": "X-Signature-Timestamp",
            "message": "{timestamp}{body}",
        }
    )
)


@pytest.mark.parametrize("form", FORMS)
def test_a_public_key_in_any_form(form: bytes) -> None:
    assert ed25519.verifies(form, ed25519.sign(PRIVATE, b"body"), b"body")
    assert SIGNED.check_secret(form).ok
    assert verdict(SIGNED, a_delivery(SIGNED, "made", key=PRIVATE), form) == Verified("s0")


def test_a_private_key_after_its_mark() -> None:
    key = ed25519.load_private(PRIVATE)
    raw = key.private_bytes(s.Encoding.Raw, s.PrivateFormat.Raw, s.NoEncryption())
    for text in (raw, raw + RAW):
        marked = b"whsk_" + base64.b64encode(text)
        assert ed25519.sign(marked, b"body") == ed25519.sign(PRIVATE, b"body")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"whsk_" + base64.b64encode(RAW), "private key"),
        (PRIVATE, "private key"),
        (b"whpk_AAAA", "no public key"),
        (b"whpk_", "no public key"),
        (b"!", "not base64"),
        (b"A" * 9000, "shorter than"),
    ],
)
def test_what_is_no_public_key_is_reported(text: bytes, words: str) -> None:
    with pytest.raises(UnusableKeyError, match=words):
        ed25519.load_public(text)
    assert not ed25519.verifies(text, bytes(64), b"body")
    assert not SIGNED.check_secret(text).ok


@pytest.mark.parametrize("text", [b"", b"whsk_", b"whsk_!", PEM, b"-----BEGIN PRIVATE KEY-----"])
def test_what_is_no_private_key_is_reported(text: bytes) -> None:
    with pytest.raises(UnusableKeyError):
        ed25519.sign(text, b"body")
    assert not SIGNED.can_sign(text)


def test_every_changed_byte_is_found() -> None:
    request = a_delivery(SIGNED, "made", key=PRIVATE)
    for index in range(len(request.body)):
        body = request.body[:index] + bytes([request.body[index] ^ 1]) + request.body[index + 1 :]
        found = verdict(SIGNED, changed(request, body=body), PEM)
        assert isinstance(found, Refused)
        assert found.reason == "bad_signature"
    other = ed25519.public_of(ed25519.invent(other_bytes))
    assert isinstance(verdict(SIGNED, request, other), Refused)


def test_public_and_shared_keys_of_one_sender_are_not_mixed_up() -> None:
    """Whoever knows the public key must not be able to sign with it."""
    standard = a_provider("standard-webhooks")
    public = ed25519.public_of(PRIVATE)
    assert verdict(standard, a_delivery(standard, "x", key=PRIVATE), public) == Verified("s0")
    for guess in (b"whsec_" + base64.b64encode(RAW), b"whsec_" + base64.b64encode(public)):
        assert isinstance(verdict(standard, a_delivery(standard, "x", key=guess), public), Refused)
    assert "whpk_" in (standard.check_secret(base64.b64encode(RAW)).warning or "")
    assert standard.check_secret(public).warning is None


def test_a_key_of_another_kind_is_none_of_ours() -> None:
    other = keys.invent(fixed_bytes)
    with pytest.raises(UnusableKeyError, match="the key is not an Ed25519 key"):
        ed25519.load_public(keys.public_of(other))
    with pytest.raises(UnusableKeyError, match="the private key is not an Ed25519 one"):
        ed25519.load_private(other)
    assert not ed25519.verifies(keys.public_of(other), bytes(64), b"message")


def test_a_public_key_is_written_in_one_line_after_its_mark() -> None:
    assert ed25519.public_of(PRIVATE) == b"whpk_" + base64.b64encode(RAW)


def test_a_key_has_at_most_8192_bytes_without_the_space_around_it() -> None:
    padded = PEM[:-1] + b" " * (8_192 - len(PEM) - 1) + b" #"
    assert len(padded) == 8_192
    assert ed25519.verifies(padded, ed25519.sign(PRIVATE, b"body"), b"body")
    assert ed25519.verifies(b" " * 9_000 + PEM, ed25519.sign(PRIVATE, b"body"), b"body")
    with pytest.raises(UnusableKeyError, match="shorter than 8192 bytes"):
        ed25519.load_public(padded + b"#")


def test_a_signature_of_another_length_verifies_nothing() -> None:
    good = ed25519.sign(PRIVATE, b"body")
    assert ed25519.verifies(PEM, good, b"body")
    for signature in (b"", good[:-1], good + b"x", bytes(64)):
        assert not ed25519.verifies(PEM, signature, b"body")


def test_an_invented_key_is_the_32_bytes_drawn() -> None:
    asked: list[int] = []

    def rng(count: int) -> bytes:
        asked.append(count)
        return b"k" * count

    raw = ed25519.load_private(ed25519.invent(rng)).private_bytes(
        s.Encoding.Raw, s.PrivateFormat.Raw, s.NoEncryption()
    )
    assert (asked, raw) == ([32], b"k" * 32)
