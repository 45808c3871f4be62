"""The plugin of `router new alert --to email`, with a server that takes mail."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

import pytest

from router.cli.templates.alert_mail import send
from router.plugin import Event, PlainContext
from tests.certificates import write_certificate

ANSWERS = {
    "EHLO": "250-localhost\r\n250-STARTTLS\r\n250 AUTH PLAIN",
    "STARTTLS": "220 go on",
    "AUTH": "235 welcome",
    "DATA": "354 go on",
    "QUIT": "221 bye",
}


class MailServer:
    """Speaks as much of SMTP as a mail needs; `said` holds the commands, `mails` what came."""

    def __init__(self, proof: ssl.SSLContext) -> None:
        self.proof = proof
        self.said: list[str] = []
        self.mails: list[EmailMessage] = []

    @asynccontextmanager
    async def port(self, proof: ssl.SSLContext | None) -> AsyncIterator[int]:
        async with await asyncio.start_server(self._serve, "localhost", 0, ssl=proof) as server:
            yield server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 localhost\r\n")
        while line := (await reader.readline()).decode().strip():
            self.said.append(line)
            command = line.split()[0].upper()
            writer.write(ANSWERS.get(command, "250 ok").encode() + b"\r\n")
            if command == "STARTTLS":
                await writer.start_tls(self.proof)
            elif command == "DATA":
                mail = await reader.readuntil(b"\r\n.\r\n")
                self.mails.append(message_from_bytes(mail, policy=default))
                writer.write(b"250 taken\r\n")
        writer.close()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MailServer:
    cert, key = write_certificate(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", cert)
    proof = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    proof.load_cert_chain(cert, key)
    return MailServer(proof)


@pytest.fixture
def mailed() -> Callable[[str], Awaitable[dict[str, str]]]:
    async def mail(url: str) -> dict[str, str]:
        context = PlainContext(secrets={"smtp_url": url})
        event = Event(
            idempotency_key="job_1", received_at=datetime(2026, 11, 20, 16, 40, tzinfo=UTC)
        )
        who = {"sender": "router@a.example", "to": "ops@a.example"}
        text = {"subject": "router: jobs.dead", "text": "Bücher: 3 dead\n.\n"}
        return await asyncio.to_thread(lambda: send(event, context, **who, **text))

    return mail


Mail = Callable[[str], Awaitable[dict[str, str]]]


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("smtp://localhost:{}", False),
        ("smtp://ann:pass%2Fword@localhost:{}", True),
        ("smtps://ann:pass%2Fword@localhost:{}", True),
    ],
)
async def test_one_mail_is_sent(
    url: str, *, secret: bool, server: MailServer, mailed: Mail
) -> None:
    proof = server.proof if url.startswith("smtps") else None
    async with server.port(proof) as port:
        assert await mailed(url.format(port)) == {"to": "ops@a.example"}
    (mail,) = server.mails
    assert (mail["From"], mail["To"]) == ("router@a.example", "ops@a.example")
    assert (mail["Subject"], mail["Message-ID"]) == ("router: jobs.dead", "<job_1@router>")
    assert mail["Date"] == "Fri, 20 Nov 2026 16:40:00 +0000"
    assert "Bücher: 3 dead" in mail.get_content()
    proofs = [line.split()[2] for line in server.said if line.startswith("AUTH PLAIN")]
    assert proofs == [b64encode(b"\0ann\0pass/word").decode()] * secret
    assert ("STARTTLS" in server.said) is url.startswith("smtp://ann")


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
async def test_a_password_is_sent_to_nobody_who_proves_nothing(
    scheme: str, server: MailServer, mailed: Mail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    async with server.port(server.proof if scheme == "smtps" else None) as port:
        with pytest.raises(ssl.SSLError):
            await mailed(f"{scheme}://ann:password@localhost:{port}")
    assert not any(line.startswith("AUTH") for line in server.said)
