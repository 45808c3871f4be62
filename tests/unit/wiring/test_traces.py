"""Traces are made only when the usual variables ask for them; what hinders them is said."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from router import log as logs
from router.wiring.traces import SWITCHES, Traces, traces_of, wanted
from tests.clocks import START_MS

EXPORTER = "OTEL_EXPORTER_OTLP_ENDPOINT"
CANARY = "canary-9f2c"


def now_ns() -> int:
    return START_MS * 1_000_000


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """Where lines go; afterwards nothing is logged any more, as before."""
    stream, sdk = io.StringIO(), logging.getLogger("opentelemetry")
    logs.configure(stream=stream)
    yield stream
    logs.reset()
    sdk.handlers, sdk.propagate = [], True


def said(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("environ", "by"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "hooks"}, None),
        ({EXPORTER: " "}, None),
        *[({name: "otlp"}, name) for name in SWITCHES],
        ({EXPORTER: "http://h", "OTEL_SDK_DISABLED": "True"}, None),
        ({EXPORTER: "http://h", "OTEL_SDK_DISABLED": "false"}, EXPORTER),
        ({EXPORTER: "http://h", "OTEL_TRACES_EXPORTER": "none"}, None),
    ],
)
def test_a_variable_asks_for_traces(environ: dict[str, str], by: str | None) -> None:
    assert wanted(environ) == by


@pytest.mark.long
def test_who_wants_none_imports_nothing_of_them() -> None:
    program = (
        "import sys\n"
        "from router.wiring.server import Server\n"
        "from router.wiring.traces import Traces, traces_of\n"
        "assert traces_of({}, 'node', int) == Traces()\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"
    )
    assert ran(program).stdout == "[]\n"


@pytest.mark.long
def test_without_the_extra_the_log_says_how_to_get_it() -> None:
    program = (
        "import sys\n"
        "from router import log\n"
        "from router.wiring.traces import Traces, traces_of\n"
        "sys.modules['opentelemetry'] = None\n"
        "log.configure()\n"
        f"assert traces_of({{{EXPORTER!r}: 'http://h'}}, 'node', int) == Traces()\n"
    )
    (line,) = map(json.loads, ran(program).stderr.splitlines())
    assert (line["level"], line["fix"]) == ("warning", "pip install 'webhook-rules-router[otel]'")
    assert EXPORTER in line["event"]


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"OTEL_TRACES_EXPORTER": "jaeger"}, "no installed package has an exporter jaeger"),
        ({EXPORTER: "http://h", "OTEL_EXPORTER_OTLP_PROTOCOL": "smoke"}, "the protocol 'smoke'"),
    ],
)
def test_an_exporter_that_is_not_there_is_named(
    environ: dict[str, str], words: str, lines: io.StringIO
) -> None:
    assert traces_of(environ, "node", now_ns) == Traces()
    (line,) = said(lines)
    assert line["level"] == "warning"
    assert words in str(line["event"])


async def test_what_the_exporter_complains_of_is_said_once_and_without_secrets(
    lines: io.StringIO,
) -> None:
    environ = {
        "OTEL_TRACES_EXPORTER": "console",
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-api-key={CANARY}%3D,team=hooks-and-more",
        EXPORTER: "https://user:pass-9f2c-word@collector",
    }
    traces = traces_of(environ, "node", now_ns)
    for _ in range(3):
        words = "refused: %s= %s%%3D at %s"
        logging.getLogger("opentelemetry.x").warning(words, CANARY, CANARY, environ[EXPORTER])
    await traces.close()
    made, complaint = said(lines)
    assert (made["event"], made["exporter"]) == ("traces", ["console"])
    assert (complaint["event"], complaint["level"]) == ("spans may be lost", "warning")
    assert complaint["reason"] == "refused: *** *** at https://user:***@collector"


def ran(program: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
