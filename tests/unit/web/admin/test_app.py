"""One request: tokens, bodies, problems, masks."""

import asyncio
import json
from typing import Any

import pytest

from router import __version__
from router.errors import AmbiguousId, NotFound, RouterError, StoreUnavailable, UsageError
from router.model.selector import Criteria
from router.model.settings import Limits
from router.operator.requests import RATE, By
from router.web.admin.asgi import AsgiDoor
from router.web.budget import Budget
from router.web.client_address import Peers
from router.web.connections import Wire
from router.web.load_shedding import LoadShedder
from router.web.server import Listener
from tests.unit.web.admin.rig import STRANGER, TOKENS, Rig
from tests.unit.web.wire_client import Client

TOKEN = TOKENS["operator"].value.decode()


@pytest.mark.parametrize(
    "given",
    [
        "Basic " + TOKEN,
        TOKEN,
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN.upper()}",
        f"Bearer {TOKEN} {TOKEN}",
        "Bearer \xe4",
    ],
)
async def test_nothing_else_is_a_token(rig: Rig, given: str) -> None:
    answer = await rig.ask("POST", "/api/reload", headers={"authorization": given})
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert rig.operator.calls == []


async def test_tokens_are_those_of_now(rig: Rig) -> None:
    assert (await rig.ask("GET", "/api/whoami", "viewer")).json == {
        "name": "ann",
        "role": "viewer",
        "bodies": True,
        "version": __version__,
        "base_url": rig.world.live.current.ruleset.server.base_url,
    }
    rig.held = [TOKENS["operator"]]
    assert (await rig.ask("GET", "/api/whoami", "viewer")).status == 401


async def test_a_change_says_who_and_from_where(rig: Rig) -> None:
    body = b'{"ids": ["job_12345678"], "selector": {"rule": "one"}}'
    for verb in ("cancel", "revive", "replay"):
        answer = await rig.ask("POST", f"/api/{verb}", "operator", body=body)
        assert answer.json == {"did": verb}
        name, (asked, by) = rig.operator.calls[-1]
        assert (name, by) == (verb, By("bob", STRANGER[0], "api"))
        assert (asked.ids, asked.selector) == (("job_12345678",), Criteria(rule="one"))


async def test_behind_a_proxy_the_caller_is_who_it_says(rig: Rig) -> None:
    rig.listener(peers=Peers(["203.0.113.0/24"]))
    await rig.ask("POST", "/api/reload", "local", headers={"x-forwarded-for": "192.0.2.9"})
    assert rig.operator.calls == [("reload", By("token", "192.0.2.9", "api"))]


@pytest.mark.parametrize(
    "body",
    [
        b"[]", b"{", b'"x"', b"\xff", b"[" * 100_000, b'{"id": []}', b'{"ids": "a"}',
        b'{"selector": {"rul": "a"}}', b'{"selector": {"limit": "9"}}',
    ],
)  # fmt: skip
async def test_a_body_that_is_not_what_it_takes_is_400(rig: Rig, body: bytes) -> None:
    answer = await rig.ask("POST", "/api/cancel", "operator", body=body)
    assert answer.status == 400
    assert "the body is not what this takes" in answer.json["detail"]
    assert rig.operator.calls == []


async def test_all_at_once_is_not_the_default_pace(rig: Rig) -> None:
    for body, rate in ((b'{"rate": null}', None), (b"{}", RATE), (b"", RATE)):
        await rig.ask("POST", "/api/replay", "operator", body=body)
        assert rig.operator.calls[-1][1][0].rate == rate


async def test_a_form_is_415(rig: Rig) -> None:
    form = {"content-type": "text/plain"}
    answer = await rig.ask("POST", "/api/cancel", "operator", headers=form, body=b"{}")
    assert answer.status == 415


@pytest.mark.parametrize(
    ("fault", "status", "detail", "word"),
    [
        (NotFound("no delivery dlv_1"), 404, "no delivery dlv_1", "not_found"),
        (AmbiguousId("7ABC fits several"), 404, "7ABC fits several", "ambiguous"),
        (UsageError("say what"), 400, "say what", "usage"),
        (StoreUnavailable("disk"), 503, "disk", "store_unavailable"),
        (RouterError("not now"), 409, "not now", "failed"),
        (RuntimeError("s3cret"), 503, "the router failed; its log says why", "service_unavailable"),
    ],
)
async def test_a_fault_is_a_problem(
    rig: Rig, fault: Exception, status: int, detail: str, word: str
) -> None:
    rig.operator.fault = fault
    answer = await rig.ask("POST", "/api/reload", "operator")
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json["status"] == status
    assert (answer.json["detail"], answer.json["error"]) == (detail, word)
    assert answer.json["title"]


async def test_a_secret_that_a_target_sent_back_is_masked(rig: Rig) -> None:
    rig.listener(mask=lambda body: body.replace(b"secret words", b"***"))
    for path in (f"/api/jobs/{rig.ids['job']}", f"/api/deliveries/{rig.ids['delivery']}"):
        answer = await rig.ask("GET", path, "viewer")
        assert b"secret" not in answer.body
        assert int(answer.headers["content-length"]) == len(answer.body)


async def test_readiness_says_no(rig: Rig) -> None:
    rig.operator.why_not = "it is stopping"
    answer = await rig.ask("GET", "/readyz")
    assert (answer.status, answer.body) == (503, b"not ready: it is stopping\n")
    assert (await rig.ask("GET", "/livez")).status == 200


async def test_refusals_take_a_limit(rig: Rig) -> None:
    for query, limit in (("", 100), ("?limit=5", 5), ("?limit=99999", 1000)):
        assert (await rig.ask("GET", "/api/refusals" + query, "viewer")).status == 200
        assert rig.operator.calls[-1] == ("refusals", limit)
    assert (await rig.ask("GET", "/api/refusals?limit=-1", "viewer")).status == 400


async def test_one_refused_request_by_id_or_the_last(rig: Rig) -> None:
    for query, wanted in (
        ("", ("last", None)),
        ("?id=ref_7", ("ref_7", None)),
        ("?id=last&endpoint=shop", ("last", "shop")),
    ):
        assert (await rig.ask("GET", "/api/refusal" + query, "viewer")).status == 200
        assert rig.operator.calls[-1] == ("refusal", wanted)


async def test_it_answers_on_a_socket(rig: Rig) -> None:
    """Through Litestar and the wire, as everybody meets it."""
    bearer = f"Authorization: Bearer {TOKEN}"
    door = AsgiDoor(rig.admin.serve, Budget(1000, 1.0), LoadShedder())
    listener = Listener("127.0.0.1:0", Wire(Limits(), door))
    await listener.start()
    try:
        for head, status in (
            (f"GET /api/whoami HTTP/1.1\r\n{bearer}", 200),
            ("GET /livez HTTP/1.1", 200),
            ("GET /api/whoami HTTP/1.1", 401),
            (f"GET /api/whoami HTTP/1.1\r\n{bearer}\r\n{bearer}", 400),
            ("GET /api/whoami HTTP/1.1\r\nHost: evil.example", 400),
        ):
            assert await _status(listener, head) == status, head
    finally:
        await listener.stop(1)


async def _status(listener: Listener, head: str) -> int:
    client = Client(*await asyncio.open_connection(*listener.bound))
    host = "" if "Host:" in head else "\r\nHost: localhost"
    await client.send(f"{head}{host}\r\n\r\n".encode())
    answer: Any = await client.response()
    await client.close()
    if answer.status == 200:
        assert answer.body
    else:
        assert json.loads(answer.body)["status"] == answer.status
    return int(answer.status)


async def test_a_body_of_a_mebibyte_is_read(rig: Rig) -> None:
    for size, status in ((1_048_576, 200), (1_048_577, 413)):
        body = b'{"ids": []}'.ljust(size)
        assert (await rig.ask("POST", "/api/cancel", "operator", body=body)).status == status
