"""Signatures over the exact bytes, and TLS with authorities and certificates of one's own."""

import asyncio
import base64
import datetime
import hashlib
import hmac
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from router.actions.http import HttpAction
from router.actions.request_auth import CONTEXTS_MAX, Contexts, UnusableFilesError, signatures
from router.egress import EgressPolicy
from router.model.job import Done, FailOutcome, Outcome
from router.model.settings import Sign, Tls
from tests.sim.makers import a_job, an_http_call
from tests.sink import Sink, running_sink

NOW_S = 1_614_265_330.7
PUBLISHED = b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with running_sink() as running:
        yield running


async def _sent(sink: Sink, job: str = "job_1", **changes: Any) -> dict[str, str]:
    action = HttpAction(EgressPolicy(), now_s=lambda: NOW_S)
    call = an_http_call(f"{sink.url}/status/200", body=BODY, **changes)
    outcome = await action.run(call, a_job(job))
    await action.close()
    assert isinstance(outcome, Done), outcome
    return {name.lower(): value for name, value in sink.seen[-1].headers}


async def test_the_published_example_of_standard_webhooks(sink: Sink) -> None:
    sign = Sign(("a",), scheme="standard-webhooks")
    headers = await _sent(sink, "msg_p5jXN8AQM9LWM0D4loKWxJek", sign=sign, sign_keys=(PUBLISHED,))
    assert headers["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek"
    assert headers["webhook-timestamp"] == "1614265330"
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


async def test_two_keys_sign_while_one_takes_the_other_s_place(sink: Sink) -> None:
    old = base64.b64encode(b"the old key of this target").decode().encode()
    sign = Sign(("new", "old"), scheme="standard-webhooks")
    headers = await _sent(sink, sign=sign, sign_keys=(PUBLISHED, old))
    new_mark, old_mark = headers["webhook-signature"].split(" ")
    message = b"job_1.1614265330." + BODY
    digest = hmac.digest(b"the old key of this target", message, "sha256")
    assert old_mark == "v1," + base64.b64encode(digest).decode()
    assert new_mark != old_mark


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
@pytest.mark.parametrize("encoding", ["hex", "base64"])
async def test_a_header_of_one_s_own(sink: Sink, algorithm: Any, encoding: Any) -> None:
    sign = Sign(
        ("k",), header="X-Hub-Signature", algorithm=algorithm, encoding=encoding, prefix="p="
    )
    digest = hmac.new(b"key\xff", BODY, algorithm).digest()
    text = digest.hex() if encoding == "hex" else base64.b64encode(digest).decode()
    headers = await _sent(sink, sign=sign, sign_keys=(b"key\xff",))
    assert headers["x-hub-signature"] == f"p={text}"


async def test_a_header_of_one_s_own_with_two_keys(sink: Sink) -> None:
    headers = await _sent(sink, sign=Sign(("n", "o"), header="X-Sig"), sign_keys=(b"n", b"o"))
    marks = [hmac.new(key, BODY, hashlib.sha256).hexdigest() for key in (b"n", b"o")]
    assert headers["x-sig"] == ", ".join(marks)


@pytest.mark.parametrize("keys", [(b"",), (b"whsec_***",), (PUBLISHED, b"")])
async def test_a_key_that_cannot_sign_is_dead_and_sends_nothing(
    sink: Sink, keys: tuple[bytes, ...]
) -> None:
    action = HttpAction(EgressPolicy())
    sign = Sign(tuple("ab"[: len(keys)]), scheme="standard-webhooks")
    call = an_http_call(f"{sink.url}/status/200", sign=sign, sign_keys=keys)
    outcome = await action.run(call, a_job())
    await action.close()
    assert isinstance(outcome, FailOutcome)
    assert "sign" in outcome.reason
    assert sink.seen == []


# -- TLS ---------------------------------------------------------------------------------------


class Authority:
    """A certificate authority in a folder: `ca.pem`, and what it has signed."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.pem = folder / f"{name}.pem"
        basic = x509.BasicConstraints(ca=True, path_length=None)
        made = self._builder(self.name, self.key).add_extension(basic, critical=True)
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
            key_encipherment=False, data_encipherment=False, key_agreement=False,
            encipher_only=False, decipher_only=False,
        )  # fmt: skip
        made = made.add_extension(usage, critical=True)
        self.pem.write_bytes(
            made.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        )

    def issue(self, name: str) -> tuple[Path, Path]:
        """A certificate for localhost and 127.0.0.1, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = self._builder(
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key
        ).add_extension(names, critical=False)
        made = builder.add_extension(issuer, critical=False).sign(self.key, hashes.SHA256())
        cert, key_file = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return cert, key_file

    def _builder(self, subject: x509.Name, key: Any) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(identifier, critical=False)
        )


class TlsServer:
    """Answers every request with the name of the client's certificate."""

    def __init__(self, port: int) -> None:
        self.url = f"https://localhost:{port}/"
        self.requests = 0


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "ours")


@pytest.fixture
async def server(authority: Authority) -> AsyncIterator[TlsServer]:
    """Wants a client certificate of our authority."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.pem))
    context.load_cert_chain(*authority.issue("server"))
    context.verify_mode = ssl.CERT_REQUIRED

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        running.requests += 1
        subject = writer.get_extra_info("peercert")["subject"]
        name = dict(pair for part in subject for pair in part)["commonName"].encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(name)
        )
        writer.write(name)
        writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    running = TlsServer(listening.sockets[0].getsockname()[1])
    yield running
    listening.close()
    await listening.wait_closed()


async def _called(url: str, tls: Tls | None, key: str | None = None) -> Outcome:
    action = HttpAction(EgressPolicy())
    outcome = await action.run(an_http_call(url, tls=tls, tls_key=key, body=b""), a_job())
    await action.close()
    return outcome


async def test_the_key_may_be_a_secret_and_never_lies_about(
    authority: Authority, server: TlsServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cert, key = authority.issue("client")
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    tls = Tls(ca=str(authority.pem), cert=str(cert), key_secret="ck")
    outcome = await _called(server.url, tls, key.read_text())
    assert isinstance(outcome, Done), outcome
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("what", ["absent", "nonsense", "encrypted"])
def test_files_that_cannot_be_used_are_named_and_not_quoted(
    authority: Authority, tmp_path: Path, what: str
) -> None:
    cert, key = authority.issue("client")
    if what == "absent":
        key.unlink()
    elif what == "nonsense":
        key.write_text("s3cr3t-canary-9f2e")
    else:
        loaded = serialization.load_pem_private_key(key.read_bytes(), None)
        key.write_bytes(
            loaded.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.BestAvailableEncryption(b"word"),
            )
        )
    with pytest.raises(UnusableFilesError, match="the TLS files cannot be used") as caught:
        Contexts().of(Tls(cert=str(cert), key=str(key)), None)
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_file_that_has_changed_makes_new_settings(authority: Authority) -> None:
    contexts, tls = Contexts(), Tls(ca=str(authority.pem))
    first = contexts.of(tls, None)
    assert contexts.of(tls, None) is first
    authority.pem.write_bytes(authority.pem.read_bytes() + b"\n")
    assert contexts.of(tls, None) is not first


def test_only_so_many_settings_are_kept(authority: Authority) -> None:
    """Past 64 they are made anew: files that change all the time fill no memory."""
    contexts, tls = Contexts(), Tls(ca=str(authority.pem))
    first = contexts.of(tls, None)
    for number in range(CONTEXTS_MAX - 1):
        contexts.of(tls, f"a key that is another every time {number}")
    assert contexts.of(tls, None) is first
    contexts.of(tls, "one more")
    assert contexts.of(tls, None) is not first


async def test_a_call_without_signature_has_no_header_of_one(sink: Sink) -> None:
    headers = await _sent(sink)
    assert not [name for name in headers if "sig" in name or name.startswith("webhook-")]
    assert list(signatures(an_http_call(), "job_1", NOW_S)) == []
