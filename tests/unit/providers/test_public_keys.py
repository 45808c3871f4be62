"""RSA and P-256 public keys in every form in which senders show them."""

import base64

import pytest
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import rsa as cryptography_rsa

from router.providers import keys, rsa
from router.providers.keys import UnusableKeyError
from tests.unit.providers.makers import fixed_bytes

RSA = rsa.invent(fixed_bytes)
PUBLIC = rsa.load_private(RSA).public_key()
NUMBERS = PUBLIC.public_numbers()
DER = PUBLIC.public_bytes(s.Encoding.DER, s.PublicFormat.SubjectPublicKeyInfo)
CURVE = keys.load_private(keys.invent(fixed_bytes)).public_key()
POINT = CURVE.public_bytes(s.Encoding.X962, s.PublicFormat.UncompressedPoint)
CURVE_DER = CURVE.public_bytes(s.Encoding.DER, s.PublicFormat.SubjectPublicKeyInfo)


def number(value: int) -> str:
    raw = value.to_bytes((value.bit_length() + 7) // 8)
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


JWK = f'{{"kty":"RSA","kid":"1","n":"{number(NUMBERS.n)}","e":"{number(NUMBERS.e)}"}}'.encode()


@pytest.mark.parametrize(
    "text",
    [rsa.public_of(RSA), base64.b64encode(DER), DER.hex().encode(), b" " + JWK + b"\n"],
    ids=["pem", "base64", "hex", "jwk"],
)
def test_an_rsa_key_is_known_in_each_form(text: bytes) -> None:
    assert rsa.load_public(text).public_numbers() == NUMBERS


@pytest.mark.parametrize(
    "text",
    [
        base64.b64encode(CURVE_DER),
        CURVE_DER.hex().upper().encode(),
        POINT.hex().encode(),
        base64.b64encode(POINT),
    ],
    ids=["base64", "hex", "point in hex", "point in base64"],
)
def test_a_p256_key_is_known_in_each_form(text: bytes) -> None:
    assert keys.load_public(text).public_numbers() == CURVE.public_numbers()


WEAK = cryptography_rsa.generate_private_key(65_537, 1024)  # noqa: S505 (which is the point)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (keys.public_pem(WEAK), "2048 bits"),
        (base64.b64encode(CURVE_DER), "2048 bits"),
        (RSA, "private"),
        (b'{"kty":"RSA","n":"AQ","e":"AQAB"}', "JWK"),
        (b'{"kty":"RSA"}', "JWK"),
        (b'{"kty":"RSA","n":"' + b"A" * 9000 + b'","e":"AQAB"}', "shorter"),
        (b"ab" * 40, "no public key"),
        (b"", "no public key"),
    ],
)
def test_other_keys_are_refused(text: bytes, words: str) -> None:
    with pytest.raises(UnusableKeyError, match=words):
        rsa.load_public(text)


@pytest.mark.parametrize("pem", [keys.invent(fixed_bytes), keys.private_pem(WEAK), b"x"])
def test_other_keys_do_not_sign(pem: bytes) -> None:
    with pytest.raises(UnusableKeyError):
        rsa.sign(pem, b"0" * 32, "sha256", "pkcs1")


def test_a_padding_is_never_taken_for_the_other() -> None:
    hashed, public = b"h" * 32, rsa.public_of(RSA)
    for padding, other in (("pkcs1", "pss"), ("pss", "pkcs1")):
        signature = rsa.sign(RSA, hashed, "sha256", padding)
        assert rsa.verifies(public, signature, hashed, "sha256", padding)
        assert not rsa.verifies(public, signature, hashed, "sha256", other)
        assert not rsa.verifies(public, signature, b"g" * 32, "sha256", padding)
