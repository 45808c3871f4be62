"""Traces, if the usual variables of OpenTelemetry ask for them; else nothing of it is imported."""

import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

from router import __version__
from router import log as logs
from router.intake import TIMED_EVERY
from router.log import Log, keep_secret
from router.model.trace import Traceparent
from router.wiring.observers import Handlers

SWITCHES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_TRACES_EXPORTER",
)
"""Each of them, set, asks for traces."""
HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
"""These hold the receiver's secrets."""
QUIET_S = 60.0
"""While spans cannot be sent, that is said so often."""
_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
_PASSWORD = re.compile("//[^/@]*?:([^/@]+)@")
_INSTALL = "pip install 'webhook-rules-router[otel]'"


async def _nothing() -> None:
    """There is nothing to send."""


class Traces(NamedTuple):
    """What makes spans, and what a router without any has in its place."""

    handlers: Handlers = MappingProxyType({})
    traceparent: Traceparent | None = None
    timed_every: int = TIMED_EVERY
    close: Callable[[], Awaitable[None]] = _nothing


def wanted(environ: Mapping[str, str]) -> str | None:
    """The variable by which traces are asked for; None: they are not."""
    off = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if off or environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none":
        return None
    return next((name for name in SWITCHES if environ.get(name, "").strip()), None)


def traces_of(environ: Mapping[str, str], node: str, now_ns: Callable[[], int]) -> Traces:
    """
    Those of the node of this name, if they are wanted. When they cannot be made the log says so,
    and the router runs without: a delivery is no less accepted for want of traces.
    """
    if (variable := wanted(environ)) is None:
        return Traces()
    log = logs.get("traces")
    keep_secret(_secrets(environ))
    try:
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - an extra

        from router.wiring.spans import NAME, Spans  # noqa: PLC0415 - the same
    except ImportError:
        words = f"no traces: {variable} is set, but OpenTelemetry is not installed"
        log.warning(words, fix=_INSTALL)
        return Traces()
    _bound_complaints(log)
    try:
        names = _exporters(environ)
        processors = [BatchSpanProcessor(_made(name)) for name in names]
    except Exception as error:  # noqa: BLE001 - whatever an exporter makes of the variables
        log.warning(f"no traces: {error}", fix="see docs/traces.md")
        return Traces()
    log.info("traces", exporter=names)
    about = {"service.name": NAME, "service.version": __version__, "service.instance.id": node}
    spans = Spans(processors, about, now_ns, log)
    return Traces(spans.handlers(), spans.traceparent, 1, spans.close)


def _exporters(environ: Mapping[str, str]) -> list[str]:
    """Their names as OpenTelemetry's packages announce them."""
    protocol = (
        environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
        or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        or "http/protobuf"
    )
    otlp = _PROTOCOLS.get(protocol.strip(), f"otlp with the protocol {protocol!r}")
    names = (environ.get("OTEL_TRACES_EXPORTER") or "otlp").split(",")
    return [otlp if name.strip() == "otlp" else name.strip() for name in names]


def _made(name: str) -> Any:
    """
    The exporter of this name.

    Raises:
        LookupError: no installed package has it. Whatever it raises itself.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - only here

    found = entry_points(group="opentelemetry_traces_exporter", name=name)
    if not found:
        raise LookupError(f"no installed package has an exporter {name}")
    return next(iter(found)).load()()


def _secrets(environ: Mapping[str, str]) -> list[str]:
    """What the receiver is told that nobody else may know: in headers, and in its address."""
    pairs = [pair for name in HEADERS for pair in environ.get(name, "").split(",")]
    values = [pair.partition("=")[2].strip() for pair in pairs]
    for name in SWITCHES:
        values += _PASSWORD.findall(environ.get(name, ""))
    return [text for value in values if value for text in {value, unquote(value)}]


class _Complaints(logging.Handler):
    """What the SDK complains of, now and then: it does so of every batch."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log, self._next = log, 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Say it, if nothing was said lately."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + QUIET_S
            self._log.warning("spans may be lost", reason=record.getMessage())


def _bound_complaints(log: Log) -> None:
    sdk = logging.getLogger("opentelemetry")
    sdk.handlers, sdk.propagate = [_Complaints(log)], False
