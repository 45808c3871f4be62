"""Traces of the real process, as a receiver of OpenTelemetry's protocol gets them."""

import hashlib
import json
import signal
import socket
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import Rig, called
from tests.acceptance.senders import code
from tests.acceptance.sink import Sink

pytestmark = pytest.mark.long

RULES = """
retries: {soon: {schedule: [10ms]}}
rules:
  - id: told
    from: code
    actions:
      - id: call
        http: {url: TARGET, body: "canary-9f2c"}
        retry: soon
      - id: run
        after: call
        shell: {script: 'printf %s "$TRACEPARENT" > ran'}
      - id: plug
        after: run
        python: {call: "desk:tell", args: {url: TARGET}}
"""
PLUGIN = """
import os
from router.plugin import Context, Event

async def tell(event: Event, context: Context, *, url: str) -> str:
    assert os.environ["TRACEPARENT"] == context.traceparent
    await context.http.post(url + "/plugin")
    return context.traceparent
"""


class Receiver(NamedTuple):
    """What was sent to a receiver of traces."""

    sink: Sink

    def environ(self) -> dict[str, str]:
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.sink.url,
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            "OTEL_SERVICE_NAME": "hooks",
        }

    def requests(self) -> list[ExportTraceServiceRequest]:
        return [ExportTraceServiceRequest.FromString(one.body) for one in self.sink.received]

    def spans(self) -> list[Span]:
        return [
            span
            for request in self.requests()
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def named(self, name: str) -> list[Span]:
        return sorted((s for s in self.spans() if s.name == name), key=number)


def number(span: Span) -> int:
    return next((a.value.int_value for a in span.attributes if a.key == "router.attempt"), 0)


def context(span: Span) -> str:
    return f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Sink() as sink:
        yield Receiver(sink)


def laid_out(make_rig: MakeRig, target: Sink, environ: dict[str, str]) -> Rig:
    rig = make_rig(RULES.replace("TARGET", f"{target.url}"))
    (rig.folder / "plugins").mkdir()
    (rig.folder / "plugins" / "desk.py").write_text(PLUGIN, "utf-8")
    rig.environ.update(environ)
    return rig


def test_a_delivery_its_retry_its_chain_and_its_replay_are_one_trace(
    make_rig: MakeRig, send: Send, receiver: Receiver
) -> None:
    with Sink(answers=[503]) as target:
        rig = laid_out(make_rig, target, receiver.environ())
        with rig.router() as router:
            delivery = send(rig, code(), 1).json()["delivery"]
            router.until(lambda: len(receiver.named("attempt told/plug")) == 1, "the chain's end")
            (first, second), (run,), (plug,) = (
                receiver.named(f"attempt told/{name}") for name in ("call", "run", "plug")
            )
            assert router.stop() == 0
        with rig.router() as router:  # another process goes on with the same trace
            assert called(rig, "replay", delivery, "--yes")[0] == 0
            router.until(lambda: len(receiver.named("attempt told/plug")) == 2, "the replay")
            assert router.stop() == 0
    (accept,), (route,) = receiver.named("accept code"), receiver.named("route code")
    ids = hashlib.blake2s(delivery.encode(), digest_size=24).hexdigest()  # nothing is stored for it
    assert context(accept) == f"00-{ids[:32]}-{ids[32:]}-01"
    spans = receiver.spans()
    assert len(spans) == 2 + 4 + 3
    assert {span.trace_id for span in spans} == {accept.trace_id}
    assert {span.parent_span_id for span in spans} == {b"", accept.span_id}
    assert route.parent_span_id == accept.span_id
    assert [number(first), number(second)] == [1, 2]
    assert [s.status.code for s in (first, second, run, plug)] == [2, 0, 0, 0]
    told = [one.headers["traceparent"] for one in target.received[:3]]
    assert told == [context(first), context(second), context(plug)]
    replayed = [s for s in receiver.named("attempt told/call") if s.links]
    assert [link.span_id for s in replayed for link in s.links] == [accept.span_id]
    assert (rig.folder / "ran").read_text() == context(
        next(s for s in receiver.named("attempt told/run") if s.links)
    )


def test_no_payload_and_no_secret_reaches_the_receiver(
    make_rig: MakeRig, send: Send, receiver: Receiver
) -> None:
    with Sink(answers=[410]) as target:
        rig = laid_out(make_rig, target, receiver.environ())
        with rig.router() as router:
            send(rig, code(), 1)
            router.until(lambda: len(receiver.named("attempt told/call")) == 1, "its attempt")
            assert router.stop() == 0
    whole = b"".join(one.body for one in receiver.sink.received)
    assert b"canary-9f2c" in target.received[0].body
    for word in (b"canary-9f2c", b"refs/heads/main", rig.environ["CODE_SECRET"].encode(), b"wh_"):
        assert word not in whole


def test_a_receiver_that_never_answers_holds_nobody_up(make_rig: MakeRig, send: Send) -> None:
    with Sink() as target, socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "10"}
        rig = laid_out(make_rig, target, environ)
        with rig.router() as router:
            for n in range(20):
                assert send(rig, code(), n).status_code == 200
            router.until(lambda: len(target.received) == 40, "all jobs")
            assert router.stop() == 0


def test_a_receiver_that_is_not_there_is_a_line_in_the_log(make_rig: MakeRig, send: Send) -> None:
    with Sink() as target:
        environ = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
            "OTEL_BSP_SCHEDULE_DELAY": "10",
        }
        rig = laid_out(make_rig, target, environ)
        with rig.router() as router:
            assert send(rig, code(), 1).status_code == 200
            router.says("spans may be lost")
            router.signal(signal.SIGTERM)
            assert router.ended(within=20) == 0
    lines = [json.loads(line) for line in router.log.read_text("utf-8").splitlines()]
    assert [line["level"] for line in lines if line["logger"] == "traces"] == ["info", "warning"]
