"""`router send --all` and `--batch`: every event, and many in one request."""

import json
import secrets
from pathlib import Path

import pytest

from router.model.delivery import Verified
from router.providers import builtin
from tests.unit.cli.conftest import MakeSink, Router
from tests.unit.cli.test_send import header, verdict

KEYS = {"shop": b"s" * 32, "code": b"h" * 32}


@pytest.fixture
def mail_key(tmp_path: Path) -> tuple[Path, bytes]:
    """A private key's file, and the public key."""
    pair = builtin()["email"].invent_secret(secrets.token_bytes)
    path = tmp_path / "private.pem"
    path.write_bytes(pair.sign)
    return path, pair.verify


@pytest.mark.parametrize(("endpoint", "provider"), [("shop", "shopify"), ("code", "github")])
def test_all_sends_one_of_every_event(
    endpoint: str, provider: str, router: Router, rules: Path, sink: MakeSink
) -> None:
    it = sink()
    ran = router("send", "-f", rules, endpoint, "--all", "--to", it.url)
    assert (ran.code, ran.err) == (0, "")
    names = list(dict.fromkeys(info.name for info in builtin()[provider].events))
    shown = "x-shopify-topic" if provider == "shopify" else "x-github-event"
    assert [header(r, shown) for r in it.seen] == names
    assert {verdict(provider, r, KEYS[endpoint]) for r in it.seen} == {Verified("s")}
    head, *lines, last = ran.out.splitlines()
    assert head.split() == ["EVENT", "STATUS", "DELIVERY"]
    sent = [line.split()[0] for line in lines]
    assert [n if n in names else n.partition(".")[0] for n in sent] == names  # without its action
    assert {line.split()[1] for line in lines} == {"200"}
    assert last == f"{len(names)} events sent, all well"


def test_all_of_a_batching_sender(
    router: Router, rules: Path, sink: MakeSink, mail_key: tuple[Path, bytes]
) -> None:
    it = sink()
    ran = router("send", "-f", rules, "mail", "--all", "--key", mail_key[0], "--to", it.url)
    assert ran.code == 0
    events = [json.loads(r.body)[0]["event"] for r in it.seen]
    assert events == [info.name for info in builtin()["email"].events]
    assert {verdict("email", r, mail_key[1]) for r in it.seen} == {Verified("s")}


@pytest.mark.long
def test_one_failure_among_all_is_a_problem(router: Router, rules: Path, sink: MakeSink) -> None:
    it = sink(200, 503, 200)
    ran = router("send", "-f", rules, "shop", "--all", "--to", it.url)
    assert ran.code == 1
    assert ran.out.splitlines()[-1].endswith("1 not as expected")
    ran = router("send", "-f", rules, "code", "--all", "--to", it.url, "--json")
    tried = {row["event"]: row for row in json.loads(ran.out)}
    assert (tried["pull_request"]["action"], tried["push"]["action"]) == ("opened", None)
    assert set(tried["push"]) == {"event", "action", "status", "answer", "delivery", "took_ms"}


def test_forgeries_of_all_are_refused(router: Router, rules: Path, sink: MakeSink) -> None:
    args = ("send", "-f", rules, "shop", "--all", "--tamper", "signature", "--to")
    assert router(*args, sink(401).url).code == 0
    assert router(*args, sink(200).url).code == 1
    assert "unsigned" in router(*args[:3], "open", *args[4:], "http://127.0.0.1:1").err


@pytest.mark.parametrize(
    "more", [["orders/paid"], ["--again"], ["--payload", "x"], ["--count", "2"], ["--batch", "2"]]
)
def test_all_is_not_one(more: list[str], router: Router, rules: Path) -> None:
    ran = router("send", "-f", rules, "shop", *more, "--all")
    assert ran.code == 2
    assert "--all sends one of every event" in ran.err


@pytest.mark.parametrize("count", [1, 3, 1000])
def test_a_batch_is_one_signed_request(
    count: int, router: Router, rules: Path, sink: MakeSink, mail_key: tuple[Path, bytes]
) -> None:
    it = sink()
    ran = router(
        *("send", "-f", rules, "mail", "delivered", "--batch", str(count), "--to", it.url),
        *("--key", mail_key[0], "--set", "unique_args.order=7", "--set", 'category=["a"]'),
    )
    assert ran.code == 0
    (received,) = it.seen
    assert verdict("email", received, mail_key[1]) == Verified("s")
    events = json.loads(received.body)
    assert len({e["sg_event_id"] for e in events}) == count
    assert all(e["unique_args"] == {"campaign": "winter", "order": 7} for e in events)
    assert all(e["category"] == ["a"] for e in events)
    assert received.body.count(b"},\r\n{") == count - 1
    assert received.body.endswith(b"}]\r\n")
    assert b"<" not in received.body
    assert events[0]["smtp-id"].startswith("<")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["mail", "open", "--batch", "1001"], "at most 1,000 events a delivery"),
        (["mail", "open", "--batch", "2", "--payload", "x"], "leave --batch out"),
        (["mail", "--again", "--batch", "2"], "leave other options out"),
        (["shop", "orders/paid", "--batch", "2"], "use --count, not --batch"),
    ],
)
def test_what_makes_no_batch(words: list[str], says: str, router: Router, rules: Path) -> None:
    ran = router("send", "-f", rules, *words)
    assert ran.code == 2
    assert says in ran.err
