"""Signatures over the exact bytes, and TLS with authorities and certificates of one's own."""

import base64
import hashlib
import hmac
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from router.actions.http import HttpAction
from router.actions.request_auth import CONTEXTS_MAX, Contexts, UnusableFilesError, signatures
from router.egress import EgressPolicy
from router.model.job import Done, FailOutcome
from router.model.settings import Sign, Tls
from tests.certificates import write_certificate
from tests.hostile.targets import SHORT
from tests.sim.makers import a_job, an_http_call
from tests.sink import Sink, running_sink
from tests.wire.calls import Calls, answering

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


@pytest.fixture
def client(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate and its key."""
    cert, key = write_certificate(tmp_path, "localhost")
    return Path(cert), Path(key)


async def test_the_key_may_be_a_secret_and_never_lies_about(
    client: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cert, key = client
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(cert))
    server.load_cert_chain(cert, key)
    server.verify_mode = ssl.CERT_REQUIRED
    tls = Tls(ca=str(cert), cert=str(cert), key_secret="ck")
    async with Calls() as calls, answering(SHORT, tls=server) as target:
        url = target.url.replace("127.0.0.1", "localhost")
        found = await calls.to(url, tls=tls, tls_key=key.read_text())
    assert found.how == "done", found
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("what", ["absent", "nonsense", "encrypted"])
def test_files_that_cannot_be_used_are_named_and_not_quoted(
    client: tuple[Path, Path], what: str
) -> None:
    cert, key = client
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


def test_a_file_that_has_changed_makes_new_settings(client: tuple[Path, Path]) -> None:
    contexts, tls = Contexts(), Tls(ca=str(client[0]))
    first = contexts.of(tls, None)
    assert contexts.of(tls, None) is first
    client[0].write_bytes(client[0].read_bytes() + b"\n")
    assert contexts.of(tls, None) is not first


def test_only_so_many_settings_are_kept(client: tuple[Path, Path]) -> None:
    """Past 64 they are made anew: files that change all the time fill no memory."""
    contexts, tls = Contexts(), Tls(ca=str(client[0]))
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
