"""The real process under a service manager, and with a certificate."""

import json
import signal
import socket
import ssl
from pathlib import Path

import pytest

from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import Rig, RouterProcess
from tests.acceptance.senders import ENDPOINTS, mail_keys
from tests.acceptance.test_operate import called
from tests.certificates import write_certificate

pytestmark = pytest.mark.long

RULES = "rules:\n  - {id: all, from: all, actions: {log: hi}}\n"
HOST = "hooks.example.com"


def secured(make_rig: MakeRig) -> Rig:
    rig = make_rig("")
    rig.server = "  tls: {cert: cert.pem, key: key.pem}\n"
    rig.write(ENDPOINTS + RULES)
    return rig


def certificate_of(router: RouterProcess, folder: Path) -> str:
    """What a client sees that trusts what is in the folder now."""
    context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
    with (
        socket.create_connection(("127.0.0.1", router.listen), timeout=5) as link,
        context.wrap_socket(link, server_hostname=HOST) as secure,
    ):
        assert secure.version() in ("TLSv1.2", "TLSv1.3")
        return str(secure.getpeercert())


def renewed(router: RouterProcess, folder: Path) -> bool:
    try:
        certificate_of(router, folder)
    except ssl.SSLCertVerificationError:
        return False
    return True


def test_deliveries_come_over_tls_and_a_renewed_certificate_is_taken(make_rig: MakeRig) -> None:
    """Without a signal, as the rules file itself; and a wrong one is a failed reload."""
    rig = secured(make_rig)
    write_certificate(rig.folder, HOST)
    with rig.router() as router:
        first = certificate_of(router, rig.folder)
        assert called(rig, "send", "code", "push")[0] == 0
        (rig.folder / "cert.pem").write_text("half")
        router.signal(signal.SIGHUP)
        router.until(lambda: "reload failed" in router.output(), "the failed reload")
        router.says("server.tls")
        assert called(rig, "send", "code", "push")[0] == 0
        write_certificate(rig.folder, HOST)
        router.until(lambda: renewed(router, rig.folder), "the new certificate")
        assert certificate_of(router, rig.folder) != first
        assert router.stop() == 0
        lines = router.log.read_text("utf-8").splitlines()
    reported = [json.loads(line) for line in lines]
    assert all({"timestamp", "level", "logger", "event"} <= {*line} for line in reported)
    assert {line["logger"] for line in reported} & {"asyncio"} == set()
    token = Path(f"{rig.store}.token").read_text("ascii").strip()
    for canary in (*rig.environ.values(), *mail_keys()[0].splitlines()[1:-1], token):
        assert canary not in "\n".join(lines)


def test_a_reload_that_fails_its_tests_renews_no_certificate(make_rig: MakeRig) -> None:
    """All of a reload comes into force or nothing of it."""
    rig = secured(make_rig)
    rig.server += "  reload: {watch: false, require_tests: true}\n"
    rig.write(ENDPOINTS + RULES)
    write_certificate(rig.folder, HOST)
    with rig.router() as router:
        first, old = certificate_of(router, rig.folder), (rig.folder / "cert.pem").read_bytes()
        write_certificate(rig.folder, HOST)
        fresh = (rig.folder / "cert.pem").read_bytes()
        tests = "tests: [{name: a, send: {endpoint: code, event: push}, expect: {matched: [%s]}}]\n"
        rig.write(ENDPOINTS + RULES + tests % "")
        router.signal(signal.SIGHUP)
        router.until(lambda: "reload failed" in router.output(), "the failed reload")
        (rig.folder / "cert.pem").write_bytes(old)  # what a client is to trust
        assert certificate_of(router, rig.folder) == first
        (rig.folder / "cert.pem").write_bytes(fresh)
        rig.write(ENDPOINTS + RULES + tests % "all")
        router.signal(signal.SIGHUP)
        router.until(lambda: renewed(router, rig.folder), "the new certificate")


def test_a_missing_certificate_is_an_error_of_the_start_and_not_of_the_file(
    make_rig: MakeRig,
) -> None:
    """Rules are checked on other machines than the one that has the key."""
    rig = secured(make_rig)
    code, out, err = called(rig, "check", str(rig.path))
    assert (code, "cert.pem" in out + err) == (0, False)
    router = rig.router().launch()
    assert router.ended(within=20) == 1
    assert f"server.tls: {rig.folder / 'cert.pem'} cannot be read: no such file" in router.output()


def test_a_service_manager_hears_when_it_is_ready_reloading_and_stopping(
    make_rig: MakeRig, tmp_path: Path
) -> None:
    rig = make_rig(RULES)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(tmp_path / "notify"))
        ear.settimeout(20)
        rig.environ |= {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000"}

        def hear(wanted: str) -> None:
            while not (word := ear.recv(4096).decode()).startswith(wanted):
                assert word.startswith(("READY=1", "STATUS=", "WATCHDOG=1")), word

        with rig.router() as router:
            hear("READY=1")
            hear("WATCHDOG=1")
            router.signal(signal.SIGHUP)
            hear("RELOADING=1\nMONOTONIC_USEC=")
            hear("READY=1")
            hear("STATUS=rules ")
            assert router.stop() == 0
            hear("STOPPING=1")
