"""Certificates of a listener: when they end, and which cannot be used."""

import time
from pathlib import Path

import pytest

from router.errors import SecretMissing
from router.web.tls import Certificate
from tests.certificates import write_certificate


def test_it_says_when_what_is_served_ends(tmp_path: Path) -> None:
    certificate = Certificate(*write_certificate(tmp_path, "hooks.example.com"))
    assert certificate.ends_at is not None
    assert abs(certificate.ends_at / 1000 - time.time() - 86_400) < 600
    (tmp_path / "cert.pem").write_text("none")
    certificate.serve(certificate.context)
    assert certificate.ends_at is None


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    cert, key = write_certificate(tmp_path, "a")
    with pytest.raises(SecretMissing, match=r"none\.pem cannot be read: no such file"):
        Certificate(cert, str(tmp_path / "none.pem"))
    with pytest.raises(SecretMissing, match=r"key is not that of|not a certificate"):
        Certificate(cert, cert)
    assert Certificate(cert, key).files == (Path(cert), Path(key))


def test_a_locked_key_is_refused_and_nobody_is_asked(tmp_path: Path) -> None:
    """A server has no terminal to ask on."""
    cert, key = write_certificate(tmp_path, "a", password=b"secret")
    with pytest.raises(SecretMissing, match="locked by a password"):
        Certificate(cert, key)
