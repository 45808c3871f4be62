"""What the running program promises: deliveries in, effects out, and an orderly life."""

import json
import signal
from contextlib import closing
from pathlib import Path

import pytest

from tests import ledger
from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import Rig, RouterProcess, free_ports
from tests.acceptance.senders import ENDPOINTS, Sender, code, environ, mail, shop
from tests.acceptance.sink import Sink

pytestmark = pytest.mark.long

LOG_ALL = """
rules:
  - {id: all, from: all, actions: {log: "saw {{ event }}"}}
"""


def all_ended(rig: Rig, count: int) -> bool:
    found = ledger.counts(rig.store)
    return (found.jobs, found.succeeded) == (count, count)


@pytest.mark.parametrize(
    ("sender", "event"), [(shop(), "orders/paid"), (mail(), "bounce"), (code(), "push")]
)
def test_a_signed_delivery_runs_its_actions(
    make_rig: MakeRig, send: Send, sender: Sender, event: str
) -> None:
    """Each kind of action takes effect, with the sender's bytes where they are promised."""
    with Sink() as sink:
        rig = make_rig(
            "rules:\n"
            "  - id: all\n    from: all\n    match: payload.number == `1`\n"
            "    actions:\n"
            f"      - {{id: call, http: {{url: '{sink.url}/in'}}}}\n"
            "      - {id: keep, shell: {script: 'cat > shell.out'}}\n"
            "      - {id: note, log: 'saw {{ event }} {{ payload.number }}'}\n"
        )
        with rig.router() as router:
            answer = send(rig, sender, 1)
            assert (answer.status_code, answer.json()["status"]) == (200, "accepted")
            router.until(lambda: all_ended(rig, 3), "three jobs to succeed")
            router.says(f"saw {event} 1")
        [call] = sink.received
        kept = (rig.folder / "shell.out").read_bytes()
    assert json.loads(call.body)["number"] == json.loads(kept)["number"] == 1
    if sender.provider != "email":
        assert call.body == kept == sender.body(1)
    assert call.headers["router-delivery"] == answer.json()["delivery"]


def test_a_rule_that_does_not_match_runs_nothing(make_rig: MakeRig, send: Send) -> None:
    rig = make_rig(
        "rules:\n  - {id: two, from: code, match: 'payload.number == `2`', actions: {log: hi}}\n"
    )
    with rig.router():
        assert send(rig, code(), 1).status_code == 200
        assert ledger.counts(rig.store).jobs == 0
        assert ledger.counts(rig.store).deliveries == 1


@pytest.mark.parametrize("sender", [shop(), mail(), code()])
def test_the_same_delivery_again_is_a_duplicate(
    make_rig: MakeRig, send: Send, sender: Sender
) -> None:
    rig = make_rig(LOG_ALL)
    with rig.router() as router:
        first, again = send(rig, sender, 1).json(), send(rig, sender, 1).json()
        router.until(lambda: all_ended(rig, 1), "the one job to succeed")
    assert (first["status"], again["status"]) == ("accepted", "duplicate")
    assert first["delivery"] == again["delivery"]


@pytest.mark.parametrize(
    ("sender", "status", "wrong"),
    [(shop(), 401, b"a-wrong-key-of-many-bytes"), (code(), 401, b"a-wrong-key-of-many-bytes")],
)
def test_a_forged_delivery_is_refused_and_not_stored(
    make_rig: MakeRig, send: Send, sender: Sender, status: int, wrong: bytes
) -> None:
    rig = make_rig(LOG_ALL)
    with rig.router():
        answer = send(rig, sender, 1, key=wrong)
        assert answer.status_code == status
        assert set(answer.json()) == {"error"}
        assert ledger.counts(rig.store).deliveries == 0


@pytest.mark.parametrize("dev", [True, False])
def test_it_says_where_the_dashboard_is_and_at_the_end_that_it_has_stopped(
    make_rig: MakeRig, *, dev: bool
) -> None:
    rig = make_rig(LOG_ALL)
    with rig.router(*(["--dev"] if dev else [])) as router:
        assert router.stop() == 0
    lines = [json.loads(line) for line in router.output().splitlines() if line.startswith("{")]
    [reported] = [line for line in lines if line["event"] == "dashboard"]
    assert reported["url"] == f"http://127.0.0.1:{rig.admin}/"
    asked = "no token needed (--dev, this machine)"
    assert reported["log_in"] == (asked if dev else f"the token in {rig.store}.token")
    assert (lines[-1]["event"], lines[-1]["exit"]) == ("stopped", 0)


def test_sigterm_ends_it_with_status_0(make_rig: MakeRig, send: Send) -> None:
    rig = make_rig(LOG_ALL)
    with rig.router() as router:
        send(rig, code(), 1)
        assert router.stop() == 0, router.output()
    with rig.router() as router:
        assert send(rig, code(), 1).json()["status"] == "duplicate"


def test_a_second_server_on_the_same_store_is_refused(make_rig: MakeRig) -> None:
    rig = make_rig(LOG_ALL)
    listen, admin = free_ports(2)
    flags = ("--listen", f"127.0.0.1:{listen}", "--admin", f"127.0.0.1:{admin}")
    with rig.router() as first:
        second = RouterProcess(rig.path, listen, admin, rig.environ, flags).launch()
        status = second.ended(within=20)
        assert status not in (0, None)
        assert "in use by another router" in second.output()
        assert first.ready()


def test_a_broken_reload_keeps_the_old_rules(make_rig: MakeRig, send: Send) -> None:
    rig = make_rig(LOG_ALL)
    good = rig.rules
    with rig.router() as router:
        rig.write(good.replace("from: all", "from: nowhere"))
        router.signal(signal.SIGHUP)
        router.until(lambda: "nowhere" in router.output(), "the refusal to be told")
        send(rig, code(), 1)
        router.until(lambda: all_ended(rig, 1), "the old rule's job")
        rig.write(good.replace("saw {{ event }}", "the new rule"))
        router.signal(signal.SIGHUP)
        router.until(lambda: reloaded(rig, send, router), "the new rules")
    found = put_in_force(rig)
    assert len(set(found)) == len(found) == 2, "and no broken"
    with rig.router():
        assert put_in_force(rig) == found, "it has what it had"


def put_in_force(rig: Rig) -> list[str]:
    with closing(ledger.connect(rig.store)) as db:
        return [row[0] for row in db.execute("SELECT generation FROM published ORDER BY seq")]


def reloaded(rig: Rig, send: Send, router: RouterProcess) -> bool:
    send(rig, code(), ledger.counts(rig.store).deliveries + 1)
    return "the new rule" in router.output()


RETRYING = """
retries:
  quick: {{schedule: [100ms, 200ms, 300ms, 500ms, 1s, 2s], jitter: 0.1}}
rules:
  - id: forward
    from: code
    actions: {{id: call, http: {{url: "{url}"}}, retry: quick}}
"""


def test_a_target_that_is_down_gets_the_delivery_when_it_is_up(
    make_rig: MakeRig, send: Send
) -> None:
    (port,) = free_ports(1)
    rig = make_rig(RETRYING.format(url=f"http://127.0.0.1:{port}/in"))
    with rig.router() as router:
        assert send(rig, code(), 1).status_code == 200
        router.until(lambda: ledger.counts(rig.store).attempts > 0, "a failed attempt")
        with Sink(answers=[503], port=port) as sink:
            router.until(lambda: all_ended(rig, 1), "the job to succeed")
    attempts = [r.headers["router-attempt"] for r in sink.received]
    keys = {r.headers["idempotency-key"] for r in sink.received}
    assert len(attempts) == 2
    assert int(attempts[0]) < int(attempts[1])
    assert len(keys) == 1


def test_killed_between_the_answer_and_the_action_it_still_runs_once(
    make_rig: MakeRig, send: Send
) -> None:
    """The target is down, so the kill comes before any success; one job, one call in the end."""
    (port,) = free_ports(1)
    rig = make_rig(RETRYING.format(url=f"http://127.0.0.1:{port}/in"))
    with rig.router():
        answer = send(rig, code(), 1)
    assert answer.status_code == 200
    with Sink(port=port) as sink, rig.router() as router:
        router.until(lambda: all_ended(rig, 1), "the job to succeed after the restart")
        assert send(rig, code(), 1).json()["status"] == "duplicate"
    assert [r.body for r in sink.received] == [code().body(1)]
    digest = ledger.digest(code().body(1))
    assert ledger.problems(rig.store, {answer.json()["delivery"]: digest}) == []


def test_a_missing_secret_stops_it_with_the_name_of_the_variable(tmp_path: Path) -> None:
    short = {n: v for n, v in environ().items() if n != "CODE_SECRET"}
    router = Rig(tmp_path / "router", ENDPOINTS + LOG_ALL, short).router().launch()
    assert router.ended(within=20) == 1
    assert "CODE_SECRET" in router.output()
