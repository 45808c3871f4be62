"""What one router takes and runs is followed at another one that shares its database."""

from pathlib import Path

import httpx
import pytest

from tests.acceptance.conftest import Send
from tests.acceptance.process import PATIENCE_S, Rig
from tests.acceptance.senders import ENDPOINTS, code, environ
from tests.acceptance.sink import Sink
from tests.acceptance.test_listen import listening, objects

pytestmark = pytest.mark.long

RULES = ENDPOINTS + 'rules: [{id: all, from: all, actions: [{shell: {script: "true"}}]}]\n'


@pytest.fixture
def rigs(tmp_path: Path, address: str) -> tuple[Rig, Rig]:
    """Two routers on one database."""
    known = {**environ(), "ROUTER_STORE": address}
    return Rig(tmp_path / "one", RULES, known), Rig(tmp_path / "other", RULES, known)


def test_deliveries_of_all_routers_are_forwarded_once_each(
    rigs: tuple[Rig, Rig], send: Send
) -> None:
    """By a listener at one of them, and by the next one, which goes on from its checkpoint."""
    one, other = rigs
    sent, place = list[str](), other.folder / "checkpoint.json"
    with one.router(), other.router() as router, Sink() as sink:
        for begin in (0, 4):
            with listening(other, sink, "--json") as listener:
                objects(listener, "connection")
                for number in range(begin, begin + 4):
                    rig = rigs[number % 2]
                    sent.append(send(rig, code(), number).json()["delivery"])
                    assert objects(listener, "delivery")["delivery"] == sent[-1]
                router.until(lambda: sent[-1] in place.read_text(), "its checkpoint")
            sent.append(send(one, code(), 100 + begin).json()["delivery"])  # while none listens
            with listening(other, sink, "--json", "--once") as listener:
                assert objects(listener, "delivery")["delivery"] == sent[-1]
                assert listener.wait(PATIENCE_S) == 0
    assert [request.headers["router-delivery"] for request in sink.received] == sent


def test_the_signal_of_one_router_tells_of_the_other_s_deliveries(
    rigs: tuple[Rig, Rig], send: Send
) -> None:
    one, other = rigs
    with one.router(), other.router():
        token = (other.folder / "router.token").read_text().strip()
        url = f"http://127.0.0.1:{other.admin}/api/signal"
        head = {"authorization": f"Bearer {token}"}
        with httpx.stream("GET", url, headers=head, timeout=PATIENCE_S, trust_env=False) as answer:
            pieces = answer.iter_raw()
            assert next(pieces) == b"retry: 2000\n\n: listening\n\n"
            assert send(one, code(), 1).status_code == 200
            assert next(pieces) == b"data: changed\n\n"
