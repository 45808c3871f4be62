"""Strict decoding: one signature has one spelling."""

import base64
import hashlib
import hmac
from typing import Literal

import pytest

from router.providers import ed25519, keys
from router.providers.definition import VerifyRule
from router.providers.signatures import (
    check_for,
    decode_base64,
    decode_base64url,
    decode_hex,
    encode,
    hmac_digest,
    signature_size,
)
from tests.unit.providers.makers import fixed_bytes

Algorithm = Literal["sha256", "sha512"]
RAW = bytes(range(32))
PADDED = base64.b64encode(RAW)


def test_what_is_encoded_is_decoded() -> None:
    assert decode_hex(encode(RAW, "hex")) == RAW
    assert decode_base64(encode(RAW, "base64")) == RAW


@pytest.mark.parametrize(
    "text", [b"", b"a", b"AB", b"0g", b" 00", b"00 ", b"00\n", b"0x00", "é0".encode(), b"\xff\xff"]
)
def test_no_hexadecimal(text: bytes) -> None:
    assert decode_hex(text) is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        PADDED.rstrip(b"="),
        PADDED + b"=",
        PADDED + b"\n",
        b" " + PADDED,
        PADDED[:4] + b"\n" + PADDED[4:],
        PADDED + b"xyz",
        PADDED[:-2] + b"9=",  # the last bits are not zero: another spelling of the same bytes
        base64.urlsafe_b64encode(b"\xfb\xff\xfe"),
        b"=" * 4,
        b"\xff\xfe\xfd\xfc",
    ],
)
def test_no_base64(text: bytes) -> None:
    assert decode_base64(text) is None


@pytest.mark.parametrize(
    ("raw", "text"),
    [(b"\xfb\xff\xfe", b"-__-"), (b"\xfb", b"-w"), (RAW, PADDED.rstrip(b"="))],
)
def test_base64url_has_its_padding_or_none(raw: bytes, text: bytes) -> None:
    assert encode(raw, "base64url") == text
    assert decode_base64url(text) == raw
    assert decode_base64url(text + b"=" * (-len(text) % 4)) == raw


@pytest.mark.parametrize("text", [b"", b"+/+/", b"-w=", b"-x", b"a", b"-w==\n", b"====", b"\xff"])
def test_no_base64url(text: bytes) -> None:
    assert decode_base64url(text) is None


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_a_message_in_parts_is_the_message(algorithm: Algorithm) -> None:
    whole = hmac.new(b"key", b"12.body", algorithm).digest()
    assert hmac_digest(algorithm, "text", b"key", (b"12", b".", b"body")) == whole
    assert hmac_digest(algorithm, "text", b"key", (b"12.body",)) == whole
    rule = VerifyRule(scheme="hmac", algorithm=algorithm)
    assert signature_size(rule) == len(whole) == hashlib.new(algorithm).digest_size


def test_a_key_is_written_as_text_base64_or_hex() -> None:
    whole = hmac.new(RAW, b"body", "sha256").digest()
    for form, text in (
        ("base64", PADDED),
        ("base64", b"whsec_" + PADDED),
        ("hex", RAW.hex().encode()),
    ):
        assert hmac_digest("sha256", form, text, (b"body",)) == whole
        assert hmac_digest("sha256", form, b" " + text + b"\n", (b"body",)) == whole


@pytest.mark.parametrize("form", ["text", "base64", "hex"])
@pytest.mark.parametrize(
    "secret", [b"", b" ", b"\n\t", b"whpk_AAAA", b"-----BEGIN PUBLIC KEY-----"]
)
def test_nothing_and_halves_of_key_pairs_are_no_shared_secret(form: str, secret: bytes) -> None:
    assert hmac_digest("sha256", form, secret, (b"body",)) is None


@pytest.mark.parametrize("secret", [b"whsec_", b"whsec_ ", b"whsec_====", b"\xc3\xa9", b"a b"])
def test_no_base64_is_no_base64_secret(secret: bytes) -> None:
    assert hmac_digest("sha256", "base64", secret, (b"body",)) is None


def test_a_check_compares_all_bytes() -> None:
    check = check_for(VerifyRule(scheme="hmac"))
    good = hmac_digest("sha256", "text", b"key", (b"body",))
    assert good is not None
    assert check(b"key", (good,), (b"body",))
    for index in range(32):
        near = bytes(b ^ (i == index) for i, b in enumerate(good))
        assert not check(b"key", (near,), (b"body",))
        assert check(b"key", (near, good), (b"body",))
    assert not check(b"key", (good[:-1],), (b"body",))
    assert not check(b"key", (), (b"body",))


def test_sizes_of_signatures() -> None:
    assert signature_size(VerifyRule(scheme="ecdsa", encoding="base64")) is None
    assert signature_size(VerifyRule(scheme="ed25519")) == 64


@pytest.mark.parametrize("size", [0, 1, 2_047, 2_048, 32_768, 32_769, 100_000])
def test_the_digest_of_a_body_of_any_size(size: int) -> None:
    """Small parts are hashed in pieces, large ones whole: the digest is the same."""
    body = bytes(index % 251 for index in range(size))
    right = hmac.new(b"key", b"v0:" + body + b":end", "sha256").digest()
    assert hmac_digest("sha256", "text", b"key", (b"v0:", body, b":end")) == right
    assert hmac_digest("sha256", "text", b"", (body,)) is None


@pytest.mark.parametrize("text", [b"++++", b"////", b"+w==", b"/w", b"ab+/"])
def test_base64url_has_neither_sign_of_the_other_alphabet(text: bytes) -> None:
    """Else one signature would have two spellings."""
    assert decode_base64url(text) is None


def test_each_scheme_has_a_check_of_its_own() -> None:
    """None takes another's signature, nor raises on a key that is another's."""
    private, message = ed25519.invent(fixed_bytes), (b"a", b"", b"b")
    curve = keys.invent(fixed_bytes)
    right = {
        "hmac": (b"key", hmac.new(b"key", b"ab", "sha256").digest()),
        "ecdsa": (keys.public_of(curve), keys.sign(curve, hashlib.sha256(b"ab").digest())),
        "ed25519": (ed25519.public_of(private), ed25519.sign(private, b"ab")),
    }
    for scheme in right:
        check = check_for(VerifyRule(scheme=scheme))  # type: ignore[arg-type]
        for of, (key, signature) in right.items():
            for given in ((signature,), (b"junk", signature), (signature, b"junk")):
                assert check(key, given, message) is (of == scheme), (scheme, of)
            assert not check(key, (b"junk", b""), message)
            assert not check(key, (), message)


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
@pytest.mark.parametrize("size", [1, 63, 64, 65, 127, 128, 129, 1_000])
def test_the_digest_by_a_key_of_any_size(algorithm: Algorithm, size: int) -> None:
    """One that is longer than a block counts as its hash."""
    key = b"k" * size
    right = hmac.new(key, b"body", algorithm).digest()
    assert hmac_digest(algorithm, "text", key, (b"body",)) == right
