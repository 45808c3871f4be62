"""A target whose name leads to a private address: said, tried again, and called once allowed."""

import json
from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import Rig, called
from tests.acceptance.senders import code
from tests.acceptance.sink import Sink

pytestmark = pytest.mark.long

RULES = """
targets:
  erp: {url: "http://0x7f.1:%d", breaker: off}
rules:
  - id: push
    from: code
    actions: {http: {target: erp}, retry: {schedule: [SECONDS]}}
""".replace("SECONDS", ", ".join(["1s"] * 60))
"""The name needs no DNS: only the resolver takes it for an address."""


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as one:
        yield one


def last_error(rig: Rig) -> object:
    return next(
        (one["last_error"] for one in json.loads(called(rig, "targets", "--json")[1])), None
    )


def test_a_private_name_is_told_and_tried_again_until_it_is_allowed(
    make_rig: MakeRig, send: Send, sink: Sink
) -> None:
    rig = make_rig(RULES % sink.port)
    reason = f"http://0x7f.1:{sink.port}: 0x7f.1 is 127.0.0.1, a private address. "
    reason += "Allow it with `server.egress.allow: [127.0.0.0/8]`."
    with rig.router() as router:
        assert send(rig, code(), 1).status_code == 200
        router.until(lambda: last_error(rig) is not None, "the refusal")
        assert last_error(rig) == reason
        doctor = json.loads(called(rig, "doctor", "--json")[1])["checks"]
        (found,) = (check for check in doctor if check["name"] == "target erp")
        assert (found["verdict"], found["says"]) == (
            "problem",
            "0x7f.1 is 127.0.0.1, a private address",
        )
        assert found["fix"] == "allow it with `server.egress.allow: [127.0.0.0/8]`"
        assert sink.received == []
        rig.server = "  egress: {allow: [127.0.0.0/8]}\n"
        rig.write(rig.rules)
        router.until(lambda: bool(sink.received), "the call")
