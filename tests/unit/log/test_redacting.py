"""Secrets in texts: whole, encoded, and where a text was cut."""

import base64
from decimal import Decimal
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.log import MASK, Redactor

SECRET = "ab/cd+ef=gh%ij-9f2e"
PEM = "-----BEGIN KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\nwKBggqhkjOPQMBBwIhAOdQ\n-----END KEY-----\n"


def knowing(*secrets: str, least: int = 8) -> Redactor:
    redactor = Redactor(least, encoded=True)
    redactor.register(secrets)
    return redactor


@given(st.binary(max_size=9), st.binary(max_size=9), st.binary(min_size=8, max_size=40))
def test_a_secret_is_found_within_whatever_was_encoded(
    before: bytes, after: bytes, raw: bytes
) -> None:
    secret = raw.hex()
    redactor = knowing(secret)
    whole = before + secret.encode() + after
    for text in (base64.b64encode(whole), base64.urlsafe_b64encode(whole)):
        masked = redactor.text(text.decode())
        assert MASK in masked
        assert len(masked.replace(MASK, "")) <= len(text) - (len(secret) * 8 // 6 - 2)


@pytest.mark.parametrize("safe", ["", "/"])
def test_a_secret_in_an_address_is_found(safe: str) -> None:
    assert (
        knowing(SECRET).text(f"http://x/?key={quote(SECRET, safe=safe)}&b")
        == f"http://x/?key={MASK}&b"
    )


def test_seven_bytes_are_no_secret_of_an_output() -> None:
    assert knowing("1234567").text("1234567") == "1234567"
    assert knowing("12345678").text("12345678") == MASK


def test_what_a_call_was_given_counts_from_four_bytes() -> None:
    redactor = knowing(SECRET).with_(["1234"])
    assert redactor.text(f"1234 {SECRET}") == f"{MASK} {MASK}"
    assert knowing(SECRET).with_(["123"]).text("123") == "123"


def test_a_short_secret_does_not_break_a_longer_one_open() -> None:
    assert knowing("letters-9f2e-and-more").with_(["9f2e"]).text("letters-9f2e-and-more") == MASK


def test_a_lone_surrogate_in_a_value_is_no_fault() -> None:
    assert knowing("secret-\udc80-value").text("a secret-\udc80-value") == f"a {MASK}"


@pytest.mark.parametrize("secret", [SECRET, PEM, "pässwörter-für-日本"])
def test_no_cut_leaves_a_part_of_a_secret(secret: str) -> None:
    """At every byte, from either side."""
    redactor = knowing(secret)
    lines = [line for line in secret.splitlines() if "-----" not in line]
    data = secret.strip().encode()
    for place in range(1, len(data)):
        head = redactor.cut_text((b"abc " + data[:place]).decode("utf-8", "replace"), end=True)
        tail = redactor.cut_text((data[place:] + b" abc").decode("utf-8", "replace"), start=True)
        for line in lines:
            parts = [line[at : at + 4] for at in range(len(line) - 3)]
            assert not [part for part in parts if part in head + tail and part not in "-----"]
        assert head.startswith("abc ")
        assert tail.endswith(" abc")


def test_a_cut_that_meets_no_secret_changes_nothing() -> None:
    text = "\ufffd" * 9 + "binary" + "\ufffd" * 9
    assert knowing(SECRET).cut_text(text, start=True, end=True) == text
    assert knowing(SECRET).cut_text("9f2e abc") == "9f2e abc"


def test_json_keeps_its_types() -> None:
    value = {SECRET: [Decimal("1.10"), None, True, f"x{SECRET}"], "n": 12345678901234567890}
    assert knowing(SECRET).json_value(value) == {
        MASK: [Decimal("1.10"), None, True, f"x{MASK}"],
        "n": 12345678901234567890,
    }
    assert isinstance(knowing(SECRET).json_value([SECRET, Decimal("1.0")])[1], Decimal)
    assert knowing(SECRET).json_value(Decimal("1.0")) == Decimal("1.0")
