"""Certificates made for one test: self-signed ones, and an authority that signs others."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def write_certificate(folder: Path, host: str, password: bytes | None = None) -> tuple[str, str]:
    """Write `cert.pem` and `key.pem` for a host, replacing what is there; their paths."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    cert = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    lock = serialization.BestAvailableEncryption(password) if password else None
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        lock or serialization.NoEncryption(),
    )
    (folder / "cert.pem").write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(secret)
    return str(folder / "cert.pem"), str(folder / "key.pem")


class Authority:
    """An authority of the test's own, and those it has let sign in its place."""

    def __init__(self, name: str = "Test Root", above: "Authority | None" = None) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.above = above
        subject = _called(name)
        ca = x509.BasicConstraints(ca=True, path_length=None)
        issuer = above.certificate.subject if above else subject
        builder = _builder(subject, issuer, above or self, self.key.public_key())
        builder = builder.add_extension(ca, critical=True).add_extension(_SIGNS, critical=True)
        subject_key = x509.SubjectKeyIdentifier.from_public_key(self.key.public_key())
        builder = builder.add_extension(subject_key, critical=False)
        self.certificate = builder.sign((above or self).key, hashes.SHA256())

    def certify(
        self,
        *hosts: str,
        days: tuple[float, float] = (-1, 1),
        bits: int = 2048,
        usage: Literal["server", "client"] = "server",
    ) -> tuple[rsa.RSAPrivateKey, bytes]:
        """A new RSA key for these hosts and its certificate (PEM) with those above it."""
        key = rsa.generate_private_key(65_537, bits)
        names = [_named(host) for host in hosts]
        purpose = x509.ExtendedKeyUsage([_PURPOSES[usage]])
        leaf = (
            _builder(_called(hosts[0]), self.certificate.subject, self, key.public_key(), days)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(purpose, critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256())
        )
        return key, pem(leaf, *self.chain())

    def chain(self) -> list[x509.Certificate]:
        """Those between it and the root, itself first; none for the root."""
        return [] if self.above is None else [self.certificate, *self.above.chain()]


_PURPOSES = {
    "server": ExtendedKeyUsageOID.SERVER_AUTH,
    "client": ExtendedKeyUsageOID.CLIENT_AUTH,
}
_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def server_side(folder: Path, key: rsa.RSAPrivateKey, chain: bytes) -> ssl.SSLContext:
    """How a server shows a certificate."""
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "server.pem").write_bytes(private + chain)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context


def client_side(root: Authority) -> ssl.SSLContext:
    """A client that trusts this authority alone."""
    return ssl.create_default_context(cadata=pem(root.certificate).decode())


def pem(*certificates: x509.Certificate) -> bytes:
    """They as a text."""
    return b"".join(c.public_bytes(serialization.Encoding.PEM) for c in certificates)


def _named(host: str) -> x509.GeneralName:
    return x509.DNSName(host) if host[-1].isalpha() else x509.IPAddress(ip_address(host))


def _called(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    by: Authority,
    public: ec.EllipticCurvePublicKey | rsa.RSAPublicKey,
    days: tuple[float, float] = (-1, 30),
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    made_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(by.key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=days[0]))
        .not_valid_after(now + timedelta(days=days[1]))
        .add_extension(made_by, critical=False)
    )
