"""One knock at an address, on real servers: who answers there, and what that means."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from router.provider_calls import reachability
from router.provider_calls.reachability import ReachAnswer, judge
from router.refusals import AGENT
from tests.acceptance.process import free_ports
from tests.api_server import Answer, ApiServer, api_server


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with api_server() as server:
        yield server


async def looked(url: str, timeout_s: float = 5.0) -> ReachAnswer:
    async with reachability.client(url) as http:
        return await reachability.look(http, url, timeout_s=timeout_s)


async def test_our_own_listener_is_known_by_its_word(api: ApiServer) -> None:
    api.script.append(Answer(401, {"error": "unauthorized"}))
    seen = await looked(f"{api.url}/wh_x")
    assert (seen.status, seen.word) == (401, "unauthorized")
    assert judge(seen).ok
    [asked] = api.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/wh_x", {})
    assert asked.headers["user-agent"] == AGENT.decode()


@pytest.mark.parametrize(
    ("answer", "ok", "words"),
    [
        (Answer(403, {"error": "forbidden"}), True, "reached the router (403 forbidden)"),
        (Answer(405, {"error": "method_not_allowed"}), True, "reached the router"),
        (Answer(404, {"error": "not_found"}), False, "does not know this address"),
        (Answer(503, {"error": "unavailable"}), False, "accepts nothing now"),
        (Answer(404, "<html>no such site"), False, "no such page: 404"),
        (Answer(200, "<html>tunnel"), False, "another page answers"),
        (Answer(200, {"error": "odd"}), False, "another page answers"),
        (Answer(401, "", {"Server": "nginx"}), False, "asks for credentials: 401 (server: "),
        (Answer(403, "blocked"), False, "refuses the request"),
        (Answer(405, ""), False, "blocks POST"),
        (Answer(502, "bad gateway"), False, "does not reach the router"),
        (Answer(500, "oops"), False, "something else answers"),
        (
            Answer(301, "", {"Location": "https://www.example.com/wh_x"}),
            False,
            "redirected (301) to https://www.example.com/wh_x",
        ),
        (Answer(303, "", {"Location": "/login?next=%2F"}), False, "the router's admin pages"),
        ("garbage", False, "the connection broke"),
        ("close", False, "the connection broke"),
    ],
)
async def test_who_answers(api: ApiServer, answer: Answer | str, ok: bool, words: str) -> None:
    api.script.append(answer)
    judged = judge(await looked(f"{api.url}/wh_x"))
    assert (judged.ok, words in judged.says) == (ok, True), judged
    assert judged.ok or judged.fix


async def test_a_redirect_is_not_followed(api: ApiServer) -> None:
    api.script.append(Answer(302, "", {"Location": f"{api.url}/elsewhere"}))
    await looked(f"{api.url}/wh_x")
    assert [asked.path for asked in api.asked] == ["/wh_x"]


async def test_no_answer_in_time(api: ApiServer) -> None:
    api.script.append("hang")
    assert "in time" in judge(await looked(api.url, timeout_s=0.1)).says


@pytest.mark.long
async def test_an_endless_answer_is_left(api: ApiServer) -> None:
    api.script.append("drip")
    assert not judge(await looked(api.url, timeout_s=0.5)).ok


async def test_nobody_listens_there() -> None:
    [port] = free_ports(1)
    assert "nothing listens" in judge(await looked(f"http://127.0.0.1:{port}")).says


async def test_a_name_that_is_not_found() -> None:
    assert "is not found" in judge(await looked("http://no-such-host.invalid/wh_x")).says


async def test_a_name_that_leads_into_a_private_network(api: ApiServer) -> None:
    """Not `localhost` as the operator wrote it, but a name that leads there."""
    async with reachability.client("http://hooks.example.test") as http:
        seen = await reachability.look(http, api.url.replace("127.0.0.1", "localhost"))
    assert "private address" in judge(seen).says
    assert api.asked == []


async def test_what_is_no_address() -> None:
    async with reachability.client("http://x") as http:
        assert not judge(await reachability.look(http, "http://[broken")).ok


# -- TLS ------------------------------------------------------------------------------------------


class _Plain(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that turns away is what is tested."""


@contextmanager
def tls_server(folder: Path) -> Iterator[str]:
    """HTTPS on loopback, with a certificate of its own making."""
    server = _Server(("127.0.0.1", 0), _Plain)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(folder))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hooks.example.test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "own.pem"
    path.write_bytes(private + made.public_bytes(encoding))
    return path


async def test_a_certificate_that_nobody_trusts(tmp_path: Path) -> None:
    with tls_server(tmp_path) as url:
        judged = judge(await looked(url))
    assert not judged.ok
    assert "self-signed" in judged.says


async def test_plain_http_where_https_is_promised(api: ApiServer) -> None:
    judged = judge(await looked(api.url.replace("http:", "https:")))
    assert "does not speak TLS" in judged.says


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate has expired (_ssl.c:1)", "tls_expired"),
        ("CERTIFICATE_VERIFY_FAILED unable to get local issuer certificate", "tls_chain"),
        ("CERTIFICATE_VERIFY_FAILED Hostname mismatch, certificate is not valid", "tls_name"),
        ("CERTIFICATE_VERIFY_FAILED of a new kind", "tls"),
    ],
)
def test_what_openssl_says_in_plain_words(text: str, word: str) -> None:
    assert reachability._trouble(httpx.ConnectError(text)) == word
    assert judge(ReachAnswer(trouble=word)).fix
