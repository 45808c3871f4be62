"""Keys as users paste them: mended, refused in words, parsed without cryptography being loaded."""

import base64
import hashlib
import subprocess
import sys
from collections.abc import Callable

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from hypothesis import example, given
from hypothesis import strategies as st

from router.providers import certificates, keys
from tests.unit.providers.makers import fixed_bytes, other_bytes

PRIVATE = keys.invent(fixed_bytes)
PEM = keys.public_of(PRIVATE)
LINES = PEM.decode().split("\n")
BARE = "".join(LINES[1:3])
DIGEST = hashlib.sha256(b"message").digest()
SIGNATURE = keys.sign(PRIVATE, DIGEST)


def spki(key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey) -> bytes:
    return key.public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)


def test_a_good_key_verifies_its_own_signature_only() -> None:
    assert keys.verifies(PEM, SIGNATURE, DIGEST)
    assert not keys.verifies(PEM, SIGNATURE, hashlib.sha256(b"other").digest())
    assert not keys.verifies(keys.public_of(keys.invent(other_bytes)), SIGNATURE, DIGEST)


@pytest.mark.parametrize(
    ("text", "warns"),
    [
        (PEM, False),
        (PEM.strip(), False),
        (PEM.replace(b"\n", b"\r\n"), False),
        (BARE.encode(), False),
        (BARE.encode() + b"\n", False),
        (PEM.replace(b"\n", b" "), True),
        (PEM.replace(b"\n", b""), True),
        (PEM.replace(b"\n", b"\\n"), True),
        (PEM.replace(b"\n", b"\\r\\n"), True),
        (b'"' + PEM.strip() + b'"', True),
        (BARE[:40].encode() + b"\n" + BARE[40:].encode(), True),
        (BARE[:40].encode() + b"\\n" + BARE[40:].encode(), True),
    ],
)
def test_pasted_keys_are_mended(text: bytes, warns: bool) -> None:
    assert (keys.mend(text).warning is not None) == warns
    assert keys.verifies(text, SIGNATURE, DIGEST)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"not a key", "not base64"),
        (base64.b64encode(b"not a key"), "no public key"),
        (PRIVATE, "private key"),
        (PEM.replace(b"PUBLIC KEY", b"CERTIFICATE"), "holds a CERTIFICATE"),
        (PEM[:-20], "no end"),
        (PEM.replace(b"END PUBLIC", b"END OTHER"), "no end"),
        (b"A" * 9000, "shorter than"),
        (spki(ec.derive_private_key(7, ec.SECP384R1()).public_key()), "P-256"),
        (spki(ed25519.Ed25519PrivateKey.from_private_bytes(b"k" * 32).public_key()), "P-256"),
        (b"\xff\xfe", "not base64"),
        (b"-----BEGIN PUBLIC KEY----------END PUBLIC KEY-----", "no public key"),
    ],
)
def test_other_texts_are_refused_in_words(text: bytes, words: str) -> None:
    with pytest.raises(keys.UnusableKeyError, match=words):
        keys.load_public(text)
    assert not keys.verifies(text, SIGNATURE, DIGEST)


def test_only_private_pems_sign() -> None:
    for text in (PEM, b"junk", b""):
        with pytest.raises(keys.UnusableKeyError):
            keys.sign(text, DIGEST)
    p384 = ec.derive_private_key(7, ec.SECP384R1())
    other = p384.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    with pytest.raises(keys.UnusableKeyError, match="P-256"):
        keys.sign(other, DIGEST)


def test_invented_keys_come_from_the_randomness_given() -> None:
    assert keys.invent(fixed_bytes) == PRIVATE
    assert keys.invent(other_bytes) != PRIVATE


def test_a_key_is_parsed_once() -> None:
    before = keys.parsed.cache_info().hits
    keys.verifies(PEM, SIGNATURE, DIGEST)
    keys.verifies(PEM, SIGNATURE, DIGEST)
    assert keys.parsed.cache_info().hits >= before + 1


def test_loading_the_providers_does_not_load_cryptography() -> None:
    code = (
        "import sys; from router.providers import builtin; b = builtin(); [b[n] for n in b];"
        "sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("secret", "form", "says"),
    [
        (b"", "text", "the secret is empty"),
        (b" \n", "hex", "the secret is empty"),
        (b"whsec_", "base64", "the secret is empty"),
        (b"whsec_====", "base64", "the secret is (empty|not base64)"),
        (b"=", "base64", "the secret is (empty|not base64)"),
        (b"whpk_AAAA", "base64", "this is marked `whpk_`: a key of a pair"),
        (b" whsk_AAAA", "text", "this is marked `whsk_`: a key of a pair"),
        (b"-----BEGIN PUBLIC KEY-----", "text", r"a PEM \(PUBLIC KEY\): a key of a pair"),
        (b"abc", "hex", "the secret is not hex: copy it again, whole"),
        (b"a*c", "base64", "the secret is not base64: copy it again, whole"),
    ],
)
def test_what_is_no_shared_secret(secret: bytes, form: str, says: str) -> None:
    with pytest.raises(keys.UnusableKeyError, match=says):
        keys.shared(secret, form)


@pytest.mark.parametrize(
    ("secret", "form", "raw"),
    [
        (b" s\n", "text", b" s\n"),
        (b" 00ff \n", "hex", b"\x00\xff"),
        (b"AP8=", "base64", b"\x00\xff"),
        (b"AP8", "base64", b"\x00\xff"),
        (b" whsec_AP8\n", "base64", b"\x00\xff"),
    ],
)
def test_the_bytes_of_a_shared_secret(secret: bytes, form: str, raw: bytes) -> None:
    assert keys.shared(secret, form) == raw


@pytest.mark.parametrize(("secret", "empty"), [
    (b"", True), (b" \t\n", True), (b"whsec_", True), (b" whsec_ ", True),
    (b"x", False), (b"whsec_x", False), (b"whpk_", False), (b"whsec", False),
])  # fmt: skip
def test_what_is_nothing(secret: bytes, empty: bool) -> None:
    assert keys.is_empty(secret) is empty


RSA = rsa.generate_private_key(65537, 2048)
CERTIFICATE = certificates.self_signed(RSA, ("example.com",))
PAIRS = (RSA, ec.generate_private_key(ec.SECP521R1()), ec.generate_private_key(ec.SECP384R1()),
         ed25519.Ed25519PrivateKey.generate(), x25519.X25519PrivateKey.generate())  # fmt: skip
DER, PLAIN = s.Encoding.DER, s.NoEncryption()
PUBLICS = [
    *(key.public_key().public_bytes(DER, s.PublicFormat.SubjectPublicKeyInfo) for key in PAIRS),
    *(key.private_bytes(DER, s.PrivateFormat.PKCS8, PLAIN) for key in PAIRS),
    *(key.private_bytes(DER, s.PrivateFormat.TraditionalOpenSSL, PLAIN) for key in PAIRS[:3]),
    RSA.public_key().public_bytes(DER, s.PublicFormat.PKCS1),
    x509.load_pem_x509_certificate(CERTIFICATE).public_bytes(s.Encoding.DER),
    CERTIFICATE,
    b"Bag Attributes\n" + PEM,
    PEM.replace(b"\n", b"\\n"),
    b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQENB",
    b"---- BEGIN SSH2 PUBLIC KEY ----\nAAAAB3",
    *(k.public_key().public_bytes(s.Encoding.OpenSSH, s.PublicFormat.OpenSSH) for k in PAIRS[:4]),
    b"restrict,pty ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI",
    b"sk-ecdsa-sha2-nistp256@openssh.com AAAAInNrLWVjZHNh",
    b'{"keys": [{"kty": "oct", "k": "eA"}, {"kty": "RSA", "n": "eA", "e": "AQAB"}]}',
    b' {"kty": "OKP", "crv": "Ed25519", "x": "eA"}',
    b'[{"kty": "EC"}]',
    b'{"kid": "-----BEGIN CERTIFICATE-----\\nMII"}',
]
SPELLINGS = (
    lambda raw: raw,
    lambda raw: b"\n" + base64.encodebytes(raw),
    lambda raw: base64.urlsafe_b64encode(raw).rstrip(b"="),
    lambda raw: b"whsec_" + base64.b64encode(raw),
    lambda raw: raw.hex().upper().encode(),
)
Spelling = Callable[[bytes], bytes]


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_half_of_a_pair_is_no_secret_however_it_is_written(spelled: Spelling) -> None:
    for half in PUBLICS:
        with pytest.raises(keys.UnusableKeyError, match=r"this is an? .+: a key of a pair"):
            keys.shared(spelled(half), "text")


@pytest.mark.parametrize("secret", [
    b"", b"whsec_AAAA", b"a whpk_", b"WHPK_AAAA", b"ssh-rsa", b"user:ssh-rsa", b"{", b"[1]", b"{}",
    b'{"keys": 1}', b'{"kty": "oct", "k": "eA"}', b"[" * 9000, b"0" * 64, b"0" * 128, b"MIIB",
    b"ghp_16C7e42F292c6912E7710c838347Ae178B4a", b"https://keys.example/BEGIN",
])  # fmt: skip
def test_other_secrets_are_none_of_a_pair(secret: bytes) -> None:
    assert keys.kind_of_pair(secret) is None


@given(st.binary(min_size=32, max_size=64), st.sampled_from(SPELLINGS))
@example(b"\x30\x2a\x30\x05\x06" + bytes(59), SPELLINGS[1])
def test_a_random_secret_is_none_of_a_pair(raw: bytes, spelled: Spelling) -> None:
    assert keys.kind_of_pair(spelled(raw)) is None


def test_a_key_has_at_most_8192_bytes() -> None:
    padded = PEM + b" " * (8_192 - len(PEM))
    assert keys.verifies(padded, SIGNATURE, DIGEST)
    with pytest.raises(keys.UnusableKeyError, match="shorter than 8192 bytes"):
        keys.mend(padded + b" ")


def test_what_a_mended_key_is() -> None:
    """The same DER, however it was pasted; and what was mended is told in words."""
    der = base64.b64decode(BARE)
    assert keys.mend(PEM) == keys.mend(BARE.encode()) == keys.MendedKey(der, None)
    joined = keys.mend(PEM.replace(b"\n", b""))
    broken = keys.mend(BARE[:40].encode() + b" " + BARE[40:].encode())
    assert joined == keys.MendedKey(der, "the PEM lost its line breaks; mended")
    assert broken.der == der
    assert "line breaks or spaces" in (broken.warning or "")


ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@pytest.mark.parametrize(
    ("drawn", "number"),
    [(0, 1), (1, 2), (ORDER - 2, ORDER - 1), (ORDER - 1, 1), (ORDER, 2), (2**319, None)],
)
def test_any_number_drawn_is_a_key_of_the_curve(drawn: int, number: int | None) -> None:
    """Forty bytes are drawn; what is over the curve's order begins again at 1."""
    asked: list[int] = []

    def rng(count: int) -> bytes:
        asked.append(count)
        return drawn.to_bytes(40, "big")

    key = s.load_pem_private_key(keys.invent(rng), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    wanted = drawn % (ORDER - 1) + 1 if number is None else number
    assert (asked, key.private_numbers().private_value) == ([40], wanted)


def test_a_signature_that_is_none_verifies_nothing() -> None:
    for signature in (b"", b"junk", SIGNATURE[:-1], SIGNATURE + b"x"):
        assert not keys.verifies(PEM, signature, DIGEST)
    for digest in (b"", DIGEST[:-1], DIGEST + b"x"):
        assert not keys.verifies(PEM, SIGNATURE, digest)
