"""What `serve` shows on a terminal: lines read at a glance, that nothing in them can steer."""

import io
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from router import log
from router.dispatch.observed import AttemptEnded
from router.log import Redactor
from router.metrics import Metrics
from router.model.job import Attempt, Job, Settlement
from router.wiring.observers import Observers
from router.wiring.terminal import TerminalObserver, colours, phrasing

NOW = 1_790_000_000_000

DELIVERY = {
    "endpoint": "shop",
    "delivery": "dlv_01",
    "verdict": "accepted",
    "state": "routed",
    "events": ["orders/paid"],
    "rules": ["large-orders", "all-orders"],
    "ms": 2.4,
}
REFUSED = {"endpoint": "shop", "reason": "bad_signature", "hint": None, "peer": "203.0.113.9"}


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    log.configure(stream=stream, human=True, level="debug", phrase=phrasing(colour=False))
    yield stream
    log.reset()


def reported(out: io.StringIO) -> str:
    """The one line, without its time."""
    found = re.fullmatch(r"\d\d:\d\d:\d\d  (.*)\n", out.getvalue())
    assert found is not None, out.getvalue()
    return found[1]


def words(out: io.StringIO) -> list[str]:
    return re.split(r"  +", reported(out))


def test_a_delivery_is_one_line(out: io.StringIO) -> None:
    log.get("intake").info("delivery", **DELIVERY)
    assert words(out) == [
        *("shop", "orders/paid", "accepted", "large-orders, all-orders", "2.4 ms", "dlv_01")
    ]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"verdict": "duplicate"}, "duplicate, nothing runs"),
        ({"state": "unmatched", "rules": []}, "no rule matched"),
        ({"state": "unparsed", "events": [], "rules": []}, "unparsed"),
    ],
)
def test_a_delivery_without_work_says_why(
    changes: dict[str, Any], says: str, out: io.StringIO
) -> None:
    log.get("intake").info("delivery", **{**DELIVERY, **changes})
    assert says in words(out)


def test_a_refusal_says_why_and_whence(out: io.StringIO) -> None:
    log.get("intake").warning("refused", **{**REFUSED, "hint": "wrong secret"})
    assert words(out) == [
        *("shop", "-", "refused", "bad_signature (wrong secret), from 203.0.113.9")
    ]


def test_refusals_and_conditions_show_on_a_terminal_only() -> None:
    """At debug: a terminal is where somebody looks for the wrong address or a typing error."""
    for human in (True, False):
        stream = io.StringIO()
        level = "debug" if human else "info"
        log.configure(stream=stream, human=human, level=level, phrase=phrasing(colour=False))
        away = {"endpoint": None, "reason": "not_found", "status": 404, "peer": "203.0.113.9"}
        log.get("intake").debug("turned away", **away)
        log.get("intake").debug("rule error", rule="r1", reason="no field 'a'", delivery="d")
        log.reset()
        lines = [re.split(r"  +", line)[1:] for line in stream.getvalue().splitlines()]
        assert lines == human * [
            ["-", "-", "refused", "404 not_found, from 203.0.113.9"],
            ["r1", "error", "the condition erred, so no match: no field 'a'"],
        ]


def a_job(kind: str = "http") -> Job:
    return Job(
        id="job_01",
        delivery="dlv_01",
        endpoint="shop",
        event_index=0,
        event_id="evt_01",
        event="orders/paid",
        rule="large-orders",
        action="erp",
        kind=kind,
        target="erp",
        state="running",
        due_at=NOW,
        created_at=NOW,
        generation="g",
    )


def an_end(state: str, **more: Any) -> Settlement:
    given = {"outcome": "succeeded", "reason": None, "result": {}} | more
    attempt = Attempt("job_01", 2, NOW, NOW + 31, generation="g", **given)
    due = NOW + 5_031 if state == "retryable" else None
    return Settlement("job_01", "boot/1", attempt, state, due_at=due)  # type: ignore[arg-type]


def narrate(job: Job, settlement: Settlement) -> None:
    observed = AttemptEnded(job, settlement, None)
    Observers(TerminalObserver(Metrics(), log.get("dispatch")).handlers())(observed)


@pytest.mark.parametrize(
    ("kind", "result", "shown"),
    [
        ("http", {"status": 201}, " 201"),
        ("shell", {"exit": 0}, " exit 0"),
        ("python", {"value": 1}, ""),
    ],
)
def test_an_action_that_ran_is_one_line(
    kind: str, result: dict[str, Any], shown: str, out: io.StringIO
) -> None:
    narrate(a_job(kind=kind), an_end("succeeded", result=result))
    assert words(out) == ["shop", "orders/paid", "ok", f"large-orders/erp{shown}", "31 ms"]


def test_a_failed_attempt_says_why_and_when_next(out: io.StringIO) -> None:
    narrate(a_job(), an_end("retryable", outcome="failed", reason="503", result={"status": 503}))
    assert words(out) == [
        *("shop", "orders/paid", "failed"),
        "large-orders/erp 503 (attempt 2, again in 5 s)",
        "31 ms",
    ]


def test_a_dead_job_says_so(out: io.StringIO) -> None:
    narrate(a_job(), an_end("dead", outcome="dead", reason="410 Gone"))
    assert words(out)[2:4] == ["dead", "large-orders/erp 410 Gone"]


def test_a_log_action_is_its_own_line(out: io.StringIO) -> None:
    narrate(a_job("log"), an_end("succeeded", result={"message": "hello"}))
    assert out.getvalue() == ""
    log.get("action").at("info", "delivery", {"rule": "r1", "delivery": "d", "job": "j"})
    assert words(out) == ["r1", "log", "delivery"]


def test_what_a_dry_run_records_is_reported(out: io.StringIO) -> None:
    narrate(a_job("log"), an_end("succeeded", outcome="dry", result={"call": {}}))
    assert words(out)[2:4] == ["dry", "large-orders/erp"]


def test_other_lines_keep_their_form(out: io.StringIO) -> None:
    log.get("router").info("ready", listen="127.0.0.1:8000")
    log.get("dispatch").error("defect", exc_info=ValueError("no"))
    first, second = out.getvalue().splitlines()
    assert first.endswith(" info    ready listen=127.0.0.1:8000")
    assert "ValueError: no" in second


HOSTILE = "a\nb\x1b[31mc\x9b\u202ed"


def test_nothing_in_a_line_steers_the_terminal(out: io.StringIO) -> None:
    fields = {"hint": HOSTILE, "peer": HOSTILE, "endpoint": HOSTILE, "reason": HOSTILE}
    log.get("intake").warning("refused", **fields)
    hostile = {**DELIVERY, "events": [HOSTILE], "rules": [HOSTILE]}
    log.get("intake").info("delivery", **{**hostile, "verdict": HOSTILE, "state": HOSTILE})
    log.get("action").at("info", HOSTILE, {"rule": HOSTILE})
    narrate(msgspec.structs.replace(a_job(), event=HOSTILE), an_end("dead", reason=HOSTILE))
    lines = out.getvalue().split("\n")
    assert len(lines) == 5
    assert all(line.isprintable() for line in lines)


def test_a_line_is_short_whatever_is_in_it(out: io.StringIO) -> None:
    many = {"events": ["e" * 500] * 10, "rules": ["r" * 500] * 10}
    log.get("intake").info("delivery", **{**DELIVERY, **many})
    log.get("action").at("info", "m" * 10_000, {"rule": "r1"})
    assert max(map(len, out.getvalue().splitlines())) < 1_100


@pytest.mark.parametrize("colour", [False, True])
def test_secrets_are_masked_and_colour_is_asked_for(colour: bool) -> None:
    stream, redactor = io.StringIO(), Redactor()
    redactor.register(["hunter2hunter2"])
    log.configure(stream=stream, human=True, redactor=redactor, phrase=phrasing(colour=colour))
    log.get("intake").info("delivery", **{**DELIVERY, "events": ["hunter2hunter2"]})
    log.reset()
    assert "***" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()
    assert ("\x1b[32maccepted" in stream.getvalue()) is colour


def test_colour_is_for_terminals_that_want_it() -> None:
    assert colours({"TERM": "xterm"})
    assert colours({"NO_COLOR": ""})
    assert not colours({"NO_COLOR": "1"})
    assert not colours({"TERM": "dumb"})
