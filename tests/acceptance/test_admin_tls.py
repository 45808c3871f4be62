"""The admin listener with a certificate, and the command line that speaks to it."""

import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import Rig, RouterProcess
from tests.acceptance.senders import code
from tests.acceptance.sink import Sink
from tests.acceptance.test_operate import called
from tests.certificates import write_certificate

pytestmark = pytest.mark.long

RULES = "\nrules:\n  - {id: all, from: all, actions: {log: hi}}\n"


@pytest.fixture
def rig(make_rig: MakeRig) -> Rig:
    rig = make_rig(RULES)
    plain = f"  admin: 127.0.0.1:{rig.admin}\n"
    listener = (
        f'  admin: {{listen: "127.0.0.1:{rig.admin}", tls: {{cert: cert.pem, key: key.pem}}}}\n'
    )
    text = rig.path.read_text("utf-8")
    assert plain in text
    rig.path.write_text(text.replace(plain, listener), "utf-8")
    write_certificate(rig.folder, "localhost")
    return rig


@pytest.fixture
def router(rig: Rig) -> Iterator[RouterProcess]:
    router = rig.router().launch()  # its own wait for readiness speaks plain HTTP
    try:
        router.until(lambda: asked(rig, "/readyz") is not None, "the admin listener")
        yield router
    finally:
        router.kill()


def asked(rig: Rig, path: str, **headers: str) -> httpx.Response | None:
    """What the listener answers to one who trusts the certificate; None: nothing."""
    context = ssl.create_default_context(cafile=str(rig.folder / "cert.pem"))
    try:
        return httpx.get(
            f"https://localhost:{rig.admin}{path}", headers=headers, verify=context, trust_env=False
        )
    except httpx.HTTPError:
        return None


def test_the_command_line_here_knows_the_listener_by_its_certificate(
    rig: Rig, router: RouterProcess, send: Send
) -> None:
    assert send(rig, code(), 1).status_code == 200
    for command in (["targets"], ["deliveries", "--refused"], ["store", "backup", "copy.db"]):
        place = [str(rig.folder / a) if a.endswith(".db") else a for a in command]
        assert called(rig, *place)[0] == 0, command
    (line,) = json.loads(called(rig, "audit", "--json")[1])
    assert (line["verb"], line["who"]) == ("backup", "token")
    with Sink() as sink:
        options = ("--since", "start", "--once", "--checkpoint", str(rig.folder / "place"))
        assert called(rig, "listen", "--to", f"{sink.url}/in", *options)[0] == 0
        assert len(sink.received) == 1


def test_another_one_in_its_place_gets_no_token(rig: Rig, router: RouterProcess) -> None:
    """And is not taken for none: the store is not tried instead."""
    assert router.running
    (rig.folder / "other").mkdir()
    write_certificate(rig.folder / "other", "localhost")
    text = rig.path.read_text("utf-8").replace("{cert: cert.pem,", "{cert: other/cert.pem,")
    (rig.folder / "elsewhere.yaml").write_text(text, "utf-8")
    code_, _, err = called(
        rig, "cancel", "--rule", "all", "--yes", "-f", str(rig.folder / "elsewhere.yaml")
    )
    assert code_ == 1
    assert "its certificate is not trusted" in err


def test_a_server_elsewhere_is_known_by_an_authority(
    rig: Rig, router: RouterProcess, send: Send
) -> None:
    assert send(rig, code(), 1).status_code == 200
    token = Path(f"{rig.store}.token").read_text("ascii").strip()
    url, trusted = f"https://localhost:{rig.admin}/", str(rig.folder / "cert.pem")
    given = {"ROUTER_TOKEN": token}
    with Sink() as sink:
        options = ("--since", "start", "--once", "--checkpoint", str(rig.folder / "place"))
        listen = ("listen", "--server", url, "--to", f"{sink.url}/in", *options)
        code_, _, err = called(rig, *listen, **given)
        assert (code_, "its certificate is not trusted" in err) == (1, True), err
        code_, _, err = called(rig, *listen, **given, SSL_CERT_FILE=trusted)
        assert (code_, len(sink.received)) == (0, 1), err
    away = url.replace("localhost", "127.0.0.1")  # the certificate is for another name
    code_, _, err = called(rig, "targets", "--server", away, **given, SSL_CERT_FILE=trusted)
    assert (code_, "its certificate is not trusted" in err) == (1, True), err
    assert router.running


def test_a_local_target_with_a_certificate(rig: Rig, router: RouterProcess, send: Send) -> None:
    """Here the listener itself, which knows no such page: but that it says."""
    assert send(rig, code(), 1).status_code == 200
    place = ("--checkpoint", str(rig.folder / "place"), "--since", "start", "--json")
    to = f"https://localhost:{rig.admin}/api/x"
    listen = ("listen", "--to", to, *place, "--on-error", "stop")
    code_, out, _ = called(rig, *listen)
    reported = json.loads(out.splitlines()[-1])
    assert (code_, reported["status"]) == (1, None)
    assert "its certificate is not trusted" in reported["error"]
    code_, out, _ = called(rig, *listen, SSL_CERT_FILE=str(rig.folder / "cert.pem"))
    reported = json.loads(out.splitlines()[-1])
    assert (code_, reported["status"], reported["error"]) == (1, 404, None)
    assert router.running


def test_sessions_are_for_tls_alone_and_plain_requests_get_nothing(
    rig: Rig, router: RouterProcess
) -> None:
    token = Path(f"{rig.store}.token").read_text("ascii").strip()
    context = ssl.create_default_context(cafile=str(rig.folder / "cert.pem"))
    with httpx.Client(
        base_url=f"https://localhost:{rig.admin}", verify=context, trust_env=False
    ) as client:
        form = {"token": token, "next": "/"}
        answer = client.post(
            "/login", data=form, headers={"origin": f"https://localhost:{rig.admin}"}
        )
        assert answer.status_code == 303
        assert "; Secure" in answer.headers["set-cookie"]
        assert client.get("/").status_code == 200
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"http://localhost:{rig.admin}/livez", trust_env=False)
    assert router.running


def test_a_renewed_certificate_is_taken_and_a_wrong_one_is_a_failed_reload(
    rig: Rig, router: RouterProcess
) -> None:
    (rig.folder / "cert.pem").write_text("half")
    router.until(lambda: "reload failed" in router.output(), "the failed reload")
    router.says("server.admin.tls")
    write_certificate(rig.folder, "localhost")
    router.until(lambda: asked(rig, "/livez") is not None, "the new certificate")
    assert called(rig, "targets")[0] == 0
