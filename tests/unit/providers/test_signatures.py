"""Strict decoding: one signature has one spelling."""

import base64
import hashlib
import hmac

import pytest

from router.providers.signatures import (
    check_for,
    decode_base64,
    decode_hex,
    encode,
    hmac_digest,
    signature_size,
)

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


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_a_message_in_parts_is_the_message(algorithm: str) -> None:
    whole = hmac.new(b"key", b"12.body", algorithm).digest()
    assert hmac_digest(algorithm, b"key", (b"12", b".", b"body")) == whole
    assert hmac_digest(algorithm, b"key", (b"12.body",)) == whole
    assert signature_size("hmac", algorithm) == len(whole) == hashlib.new(algorithm).digest_size


def test_a_check_compares_all_bytes() -> None:
    check = check_for("hmac", "sha256")
    good = hmac_digest("sha256", b"key", (b"body",))
    assert check(b"key", good, (b"body",))
    for index in range(32):
        near = bytes(b ^ (i == index) for i, b in enumerate(good))
        assert not check(b"key", near, (b"body",))
    assert not check(b"key", good[:-1], (b"body",))


def test_an_ecdsa_signature_varies_in_size() -> None:
    assert signature_size("ecdsa", "sha256") is None
