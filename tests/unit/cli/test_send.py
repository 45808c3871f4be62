"""`router send`: what it sends is genuine, new each time, and repeated exactly when asked."""

import json
import secrets
import stat
from pathlib import Path

import pytest

from router.cli.last_request import SentRequest, last_of, path_of, remember
from router.cli.sink_server import Received
from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers import builtin
from tests.unit.cli.conftest import MakeSink, Router

NOW = 1_790_000_000_000


def verdict(provider: str, received: Received, secret: bytes) -> Verified | Refused:
    """What the router's own judge says of a request."""
    headers = tuple((n.lower().encode(), v.encode("latin-1")) for n, v in received.headers)
    path = received.path.encode()
    request = InboundRequest("POST", path, b"", headers, received.body, "127.0.0.1", NOW)
    return builtin()[provider].verify(request, [LiveSecret("s", secret)], now_ms=NOW)


def header(received: Received, name: str) -> str:
    return {n.lower(): v for n, v in received.headers}[name.lower()]


def test_what_is_sent_is_genuine_and_new_each_time(
    router: Router, rules: Path, sink: MakeSink
) -> None:
    it = sink()
    ran = router("send", "-f", rules, "shop", "orders/paid", "--to", it.url, "--count", "2")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("\n") == 2
    assert ran.out.startswith("200 ")
    assert [verdict("shopify", r, b"s" * 32) for r in it.seen] == [Verified("s")] * 2
    first, second = (header(r, "x-shopify-webhook-id") for r in it.seen)
    assert first != second
    assert header(it.seen[0], "x-shopify-topic") == "orders/paid"
    assert it.seen[0].path == "/wh_shop-0123456789abcdef"


def test_set_changes_the_sample(router: Router, rules: Path, sink: MakeSink) -> None:
    it = sink()
    router(
        *("send", "-f", rules, "shop", "orders/paid", "--to", it.url),
        *("--set", "total_price=512.50", "--set", "shipping_address.country_code=DE"),
        *("--set", 'line_items[0].sku="77"'),
    )
    sent = json.loads(it.seen[0].body, parse_float=str)
    assert sent["total_price"] == "512.50"
    assert sent["shipping_address"]["country_code"] == "DE"
    assert sent["line_items"][0]["sku"] == "77"
    assert verdict("shopify", it.seen[0], b"s" * 32) == Verified("s")


def test_an_id_that_is_set_stays(router: Router, rules: Path, sink: MakeSink) -> None:
    """Where ids stand in the event; else each event has a new one."""
    more = """endpoints:
  pay: {id: pay-0123456789abcdef, provider: stripe, verify: none}
  post: {id: post-0123456789abcdef, provider: sendgrid, verify: none}
"""
    rules.write_text(rules.read_text().replace("endpoints:\n", more, 1))
    it = sink()
    send = ("send", "-f", rules, "--to", it.url)
    for given in ("id=evt_1", "type=charge.refunded"):
        ran = router(*send, "pay", "payment_intent.succeeded", "--set", given, "--count", "2")
        assert ran.code == 0, ran.err
    ran = router(*send, "post", "bounce", "--set", "sg_event_id=mine")
    assert ran.code == 0, ran.err
    *paid, batch = [json.loads(received.body) for received in it.seen]
    assert [event["id"] for event in paid[:2]] == ["evt_1"] * 2
    assert paid[2]["id"] not in ("evt_1", paid[3]["id"])
    assert [event["sg_event_id"] for event in batch] == ["mine"]


def test_an_event_with_an_action_is_named_as_the_sender_does(
    router: Router, rules: Path, sink: MakeSink
) -> None:
    it = sink()
    assert router("send", "-f", rules, "code", "issues.closed", "--to", it.url).code == 0
    assert header(it.seen[0], "x-github-event") == "issues"
    assert json.loads(it.seen[0].body)["action"] == "closed"


def test_mail_is_a_batch_of_one_with_a_new_event_id(
    router: Router, rules: Path, sink: MakeSink, tmp_path: Path
) -> None:
    pair = builtin()["email"].invent_secret(secrets.token_bytes)
    key = tmp_path / "private.pem"
    key.write_bytes(pair.sign)
    it = sink()
    sent = ("send", "-f", rules, "mail", "bounce", "--to", it.url, "--key", key, "--count", "2")
    assert router(*sent).code == 0
    assert [verdict("email", r, pair.verify) for r in it.seen] == [Verified("s")] * 2
    ids = [json.loads(r.body)[0]["sg_event_id"] for r in it.seen]
    assert ids[0] != ids[1]


def test_a_payload_file_goes_byte_for_byte(
    router: Router, rules: Path, sink: MakeSink, tmp_path: Path
) -> None:
    payload = tmp_path / "p.json"
    payload.write_bytes(b'{ "id" : 1.0 }\n')
    it = sink()
    args = ("send", "-f", rules, "shop", "orders/paid", "--to", it.url, "--payload", payload)
    assert router(*args).code == 0
    assert router(*args, "--set", "id=2").code == 0
    assert [r.body for r in it.seen] == [b'{ "id" : 1.0 }\n', b'{"id":2}']


def test_again_repeats_the_last_bytes(router: Router, rules: Path, sink: MakeSink) -> None:
    it = sink()
    router("send", "-f", rules, "shop", "orders/paid", "--to", it.url)
    router("send", "-f", rules, "shop", "orders/paid", "--to", it.url, "--tamper", "body")
    assert router("send", "-f", rules, "shop", "--again", "--to", it.url).code == 0
    first, _, again = it.seen
    assert (first.path, first.body) == (again.path, again.body)
    assert header(first, "x-shopify-webhook-id") == header(again, "x-shopify-webhook-id")


def test_of_an_endpoint_that_redacts_no_request_is_kept(
    router: Router, rules: Path, sink: MakeSink
) -> None:
    it = sink()
    sent = ("send", "-f", rules, "shop", "orders/paid", "--to", it.url)
    assert router(*sent).code == 0
    [kept] = rules.parent.glob(".router-last-shop.json")
    redact = "secrets: shop, redact: [payload.email]}"
    rules.write_text(rules.read_text().replace("secrets: shop}", redact, 1))
    assert router(*sent).code == 0
    assert not kept.exists()
    assert "not kept, as it redacts" in router("send", "-f", rules, "shop", "--again").err


@pytest.mark.parametrize("part", ["signature", "body"])
def test_a_forgery_is_one_and_its_refusal_is_a_success(
    part: str, router: Router, rules: Path, sink: MakeSink
) -> None:
    it = sink(401)
    port = it.url.rpartition(":")[2]
    ran = router("send", "-f", rules, "shop", "orders/paid", "--to", port, "--tamper", part)
    assert ran.code == 0
    assert "refused, as expected" in ran.out
    assert isinstance(verdict("shopify", it.seen[0], b"s" * 32), Refused)


def test_an_unsigned_endpoint_is_sent_to_and_not_forged(
    router: Router, rules: Path, sink: MakeSink
) -> None:
    it = sink()
    assert router("send", "-f", rules, "open", "push", "--to", it.url).code == 0
    assert header(it.seen[0], "x-github-event") == "push"
    ran = router("send", "-f", rules, "open", "push", "--to", it.url, "--tamper", "signature")
    assert ran.code == 2
    assert "unsigned" in ran.err


def test_a_body_that_nobody_signs_is_not_forged(router: Router, tmp_path: Path) -> None:
    rules = tmp_path / "token.yaml"
    rules.write_text(
        "version: 1\n"
        "secrets:\n  token: {env: ROUTER_TOKEN}\n"
        "endpoints: {hub: {id: hub-0123456789abcdef, provider: gitlab, secrets: token}}\n"
        "rules: [{id: r, from: hub, actions: {log: hi}}]\n"
    )
    words = ("send", "-f", rules, "hub", "push", "--to", "http://127.0.0.1:9", "--tamper", "body")
    ran = router(*words)
    assert (ran.code, ran.out) == (2, "")
    assert "GitLab does not sign the body; use --tamper signature" in ran.err


@pytest.mark.parametrize(
    ("endpoint", "event", "said"),
    [
        ("shop", "orders/payd", "has no event 'orders/payd' in its list; did you mean"),
        ("shop", "nothing/alike", "`router providers shopify` lists them"),
        ("open", "issues.opend", "no issues with the action 'opend'; did you mean 'opened'?"),
    ],
)
def test_an_unknown_event_goes_out_by_force_alone(
    router: Router, rules: Path, sink: MakeSink, endpoint: str, event: str, said: str
) -> None:
    """What a slip of the finger sends looks like a delivery, and no rule is for it."""
    it = sink()
    words = ("send", "-f", rules, endpoint, event, "--to", it.url)
    ran = router(*words)
    assert (ran.code, ran.out, it.seen) == (2, "", [])
    assert said in ran.err
    assert "--force sends it anyway" in ran.err
    assert router(*words, "--force").code == 0
    assert len(it.seen) == 1


def test_an_action_that_is_like_no_known_one_may_be_a_new_one(
    router: Router, rules: Path, sink: MakeSink
) -> None:
    assert router("send", "-f", rules, "open", "issues.teleported", "--to", sink().url).code == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("mail", "bounce"), "--key private.pem"),
        (("shop", "--again"), "send once without --again"),
        (("shop", "--handshake"), "asks nothing before it sends"),
        (("shup", "orders/paid"), "router: no endpoint 'shup'; did you mean 'shop'?\n"),
        (("github", "push"), "no endpoint 'github'; of that sender it has: code, open\n"),
        # what no header can hold
        *(
            (("shop", event), "cannot be an event's name in a header")
            for event in ("a\nb", "ü", "", " push")
        ),
    ],
)
def test_wrong_words_send_nothing(
    router: Router, rules: Path, args: tuple[str, ...], words: str
) -> None:
    ran = router("send", "-f", rules, *args)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


@pytest.mark.parametrize(
    ("status", "more", "words"),
    [(200, ("--tamper", "signature"), "NOT refused"), (503, (), "503 ")],
)
def test_a_forgery_that_gets_in_and_a_refusal_are_problems(
    router: Router, rules: Path, sink: MakeSink, status: int, more: tuple[str, ...], words: str
) -> None:
    ran = router("send", "-f", rules, "shop", "orders/paid", "--to", sink(status).url, *more)
    assert ran.code == 1
    assert words in ran.out


def test_many_requests_are_summed_up(router: Router, rules: Path, sink: MakeSink) -> None:
    args = ("send", "-f", rules, "shop", "orders/paid", "--to", sink().url, "--count", "12")
    ran = router(*args)
    assert len(ran.out.splitlines()) == 11
    assert "12 requests in all: 12 × 200" in ran.out
    assert len(json.loads(router(*args, "--json").out)) == 12


def test_nothing_listening_says_how_to_start(router: Router, rules: Path) -> None:
    ran = router("send", "-f", rules, "shop", "orders/paid", "--listen", "127.0.0.1:1")
    assert ran.code == 1
    assert "start it with `router serve`" in ran.err


def test_the_last_request_is_its_owners_only(tmp_path: Path) -> None:
    path_of(tmp_path, "shop").touch(0o644)
    request = SentRequest("POST", "/wh", (("A", "b"),), b"\x00\xff")
    remember(tmp_path, "shop", request)
    assert last_of(tmp_path, "shop") == request
    assert stat.S_IMODE(path_of(tmp_path, "shop").stat().st_mode) == 0o600
    path_of(tmp_path, "shop").write_text("{", "utf-8")
    assert last_of(tmp_path, "shop") is None


def test_a_handshake_is_asked_as_the_sender_asks_it(
    router: Router, rules: Path, sink: MakeSink
) -> None:
    rules.write_text(
        "version: 1\n"
        "secrets:\n  chat: {env: SHOP_SECRET}\n"
        "endpoints: {chat: {id: chat-0123456789abcdef, provider: slack, secrets: chat}}\n"
        "rules: [{id: r, from: chat, actions: {log: hi}}]\n"
    )
    it = sink()
    words = ("send", "-f", rules, "chat", "--to", it.url, "--handshake")
    assert router(*words).code == 0
    (asked,) = it.seen
    assert json.loads(asked.body)["type"] == "url_verification"
    assert header(asked, "X-Slack-Signature").startswith("v0=")
    for more in ("message", "--again"):
        assert "leave other options out" in router(*words, more).err
