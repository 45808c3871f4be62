"""A line of the audit as a command: whole, quoted, and asking the same when it is pasted back."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.cli.main import run
from router.cli.replay import per_second
from router.cli.selection import JOB_STATES
from router.model.operations import Audit
from router.model.selector import Criteria
from router.operator.audit_text import asked_json, asked_words, command, origin, rate_text
from router.operator.requests import (
    RATE_MAX,
    ChangeRequest,
    PruneRequest,
    ReplayRequest,
    TargetRequest,
    TokenName,
    TokenRequest,
)

AT = 1_772_368_200_250
TIME = "2026-03-01T12:30:00.250Z"
LATER = 4_000_000_000_000


def a_line(verb: str, asked: dict[str, Any], **more: Any) -> Audit:
    return Audit("rpl_1", AT, "local", verb, asked, **more)


@pytest.mark.parametrize(
    ("verb", "asked", "words"),
    [
        ("cancel", {"selector": {"until": AT, "limit": 5}}, f"cancel --until {TIME} --limit 5"),
        ("cancel", {"selector": {"where": "a == `x y`"}}, "cancel --where 'a == `x y`'"),
        (
            "cancel",
            {"selector": {"where": "a", "var": {"x": "it's", "n": 1}}},
            """cancel --where a --var 'x=it'"'"'s' --var n:=1""",
        ),
        ("revive", {"ids": ["a", "b", "c", "d"]}, "revive a b c d"),
        ("revive", {"ids": ["-a"]}, "revive -- -a"),
        ("prune", {"older_than": 172_800_000}, "store prune --older-than 2d"),
        ("prune", {"older_than": 90_000}, "store prune --older-than 90s"),
        ("prune", {"older_than": 0}, "store prune --older-than 0d"),
        ("prune", {}, "store prune"),
        ("pause_target", {"target": "erp", "reason": "-x"}, "targets pause --reason=-x erp"),
        ("resume_target", {"target": "erp"}, "targets resume erp"),
        ("new_token", {"name": "ci", "bodies": False}, "token new --role viewer --no-bodies ci"),
        ("revoke_token", {"name": "ci"}, "token revoke ci"),
        ("recover", {"endpoint": "shop", "since": AT}, f"recover --since {TIME} shop"),
        ("recover", {"endpoint": "shop", "since": None}, "recover shop"),
        ("backup", {"path": "/a b.db", "bytes": 5}, "store backup '/a b.db'"),
        (
            "replay",
            {"recorded": True, "rate": 10.0, "selector": {"rule": "paid"}},
            "replay --rule paid --rate 10/s --recorded --as rpl_1",
        ),
    ],
)
def test_what_was_asked_is_a_command(verb: str, asked: dict[str, Any], words: str) -> None:
    assert command(a_line(verb, asked)) == f"router {words}"
    assert asked_words(a_line(verb, asked)) == f"router {words}"


def test_what_no_command_asks_is_told_by_name() -> None:
    line = a_line("reload", {"generation": "g1", "n": 5})
    assert (command(line), asked_words(line)) == (None, "generation g1 n 5")
    assert asked_words(a_line("reload", {})) == "-"


def test_its_times_in_json_are_times() -> None:
    reported = asked_json(a_line("revive", {"selector": {"since": AT, "rule": "paid"}}))
    assert (reported["at"], reported["asked"]) == (
        TIME,
        {"selector": {"since": TIME, "rule": "paid"}},
    )
    assert reported["command"] == f"router revive --since {TIME} --rule paid"
    assert asked_json(a_line("recover", {"endpoint": "a", "since": AT}))["asked"]["since"] == TIME


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"way": "page", "peer": "10.0.0.7"}, "page 10.0.0.7"),
        ({"way": "api", "peer": "10.0.0.7"}, "API 10.0.0.7"),
        ({"way": "command", "peer": "ann@ops"}, "command line ann@ops"),
        ({"peer": "10.0.0.7"}, "10.0.0.7"),
        ({}, "-"),
    ],
)
def test_from_where_it_was_asked(more: dict[str, Any], words: str) -> None:
    assert origin(a_line("reload", {}, **more)) == words


ANSWERS = {
    "/api/replay": {
        "id": "x", "state": "made", "deliveries": 1, "jobs": 1, "skipped": 0, "passed": 0,
        "earlier": None, "created_at": AT, "last_due_at": None,
    },
    "/api/cancel": {"cancelled": 1},
    "/api/revive": {"revived": 1},
    "/api/prune": {"deliveries": 1, "keys": 1, "generations": 0, "more": False},
    "/api/pause": {"target": "x", "state": "paused", "changed": True, "jobs": 1},
    "/api/resume": {"target": "x", "state": "healthy", "changed": True, "jobs": 1},
    "/api/tokens": {"name": "x", "role": "admin", "bodies": True, "kept": "store", "token": "x"},
    "/api/tokens/revoke": {"revoked": "x"},
}  # fmt: skip


@contextmanager
def a_server() -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Its address, and what it is asked to do."""
    asked: list[tuple[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(
                (self.path, json.loads(self.rfile.read(int(self.headers["content-length"]))))
            )
            body = json.dumps(ANSWERS[self.path]).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1)
MOMENTS = st.integers(0, LATER)
VALUES = TEXTS | st.integers() | st.booleans() | st.lists(TEXTS | st.none())
SELECTORS = st.builds(
    Criteria,
    endpoint=st.none() | TEXTS, rule=st.none() | TEXTS, event=st.none() | TEXTS,
    state=st.none() | st.sampled_from(JOB_STATES), since=st.none() | st.integers(0, AT),
    until=st.none() | st.integers(AT, LATER), where=st.none() | TEXTS, replay=st.none() | TEXTS,
    var=st.none() | st.dictionaries(st.sampled_from(["a", "b_1"]), VALUES, min_size=1),
    cause=TEXTS, limit=st.none() | st.integers(1, 10_000),
)  # fmt: skip
IDS = st.lists(TEXTS, min_size=1, max_size=5).map(tuple)
CHOSEN = st.builds(ChangeRequest, ids=IDS) | st.builds(ChangeRequest, selector=SELECTORS)
RATES = st.none() | st.floats(1e-9, RATE_MAX) | st.sampled_from([10.0, 0.5, 1 / 3, 2.7])
REPLAYS = st.builds(
    lambda chosen, **more: ReplayRequest(chosen.ids, chosen.selector, **more),
    CHOSEN, recorded=st.booleans(), again=st.booleans(), rate=RATES, name=st.just("rpl_1"),
)  # fmt: skip
DEAD = SELECTORS.map(lambda one: msgspec.structs.replace(one, state="dead"))
REQUESTS = st.one_of(
    st.tuples(st.just("replay"), st.just("replay"), REPLAYS),
    st.tuples(st.just("cancel"), st.just("cancel"), CHOSEN),
    st.tuples(st.just("revive"), st.just("revive"), st.builds(ChangeRequest, selector=DEAD)),
    st.tuples(
        st.sampled_from(["pause", "resume"]).map(lambda verb: f"{verb}_target"),
        st.none(),
        st.builds(TargetRequest, TEXTS, st.just("") | TEXTS),
    ),
    st.tuples(
        st.just("prune"),
        st.just("prune"),
        st.builds(PruneRequest, st.none() | st.integers(0, 10**12)),
    ),
    st.tuples(
        st.just("new_token"),
        st.just("tokens"),
        st.builds(
            TokenRequest, TEXTS, st.sampled_from(["viewer", "operator", "admin"]), st.booleans(),
            st.none() | MOMENTS,
        ),
    ),
    st.tuples(st.just("revoke_token"), st.just("tokens/revoke"), st.builds(TokenName, TEXTS)),
)  # fmt: skip


@pytest.mark.long
@settings(max_examples=20, deadline=None)
@given(st.lists(REQUESTS, min_size=3, max_size=6))
def test_a_command_that_is_pasted_back_asks_the_same(requests: list[tuple[str, str, Any]]) -> None:
    with a_server() as (url, asked):
        for verb, path, request in requests:
            kept = (
                request.as_json() if hasattr(request, "as_json") else msgspec.to_builtins(request)
            )
            kept = json.loads(json.dumps(kept))
            words = shlex.split(command(a_line(verb, kept)) or "")
            place = 3 if words[1] in ("targets", "store", "token") else 2
            more = ["--server", url, *(["--yes"] if path in ("replay", "cancel", "revive") else [])]
            assert run([*words[1:place], *more, *words[place:]], {}) == 0
            where, body = asked.pop()
            assert where == f"/api/{path or verb.removesuffix('_target')}"
            assert msgspec.convert(body, type(request)) == request


@given(st.floats(1e-9, RATE_MAX))
def test_a_rate_is_read_as_it_was_written(rate: float) -> None:
    assert per_second(rate_text(rate)) == rate
    assert rate_text(None) == "none"
    assert rate_text(0.5) == "30/m"
