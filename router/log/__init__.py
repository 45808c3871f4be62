"""
The one logging set-up: JSON lines, or lines for a person, never a secret in either.

`get` costs nothing and imports nothing: until `configure` runs, what is logged goes nowhere.
"""

import atexit
import json
import logging
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from datetime import UTC, datetime
from functools import lru_cache
from types import NoneType
from typing import Any, ClassVar, TextIO

import msgspec

from router.log.output import LAST_S, Output, sink_of
from router.log.redacting import MASK, OUTPUTS, REDACTOR, Redactor, keep_secret

__all__ = [
    "LINE_BYTES",
    "MASK",
    "OUTPUTS",
    "REDACTOR",
    "Log",
    "Redactor",
    "configure",
    "get",
    "keep_secret",
    "lost",
    "reset",
    "visible",
]

LINE_BYTES = 8_192
LOST = "lines of this log were lost: they could not be written"

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_SILENT = 50


class _State:
    least: ClassVar[int] = _SILENT
    writer: ClassVar["_LineWriter"]
    out: ClassVar[Output | None] = None


class Log:
    """A named logger. A line never raises, whatever its values and wherever it goes."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def debug(self, event: str, **fields: Any) -> None:
        """For someone who looks for a fault."""
        self.at("debug", event, fields)

    def info(self, event: str, **fields: Any) -> None:
        """Something happened as it should."""
        self.at("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Something an operator should look at."""
        self.at("warning", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        """Something failed; `exc_info=error` adds the traceback."""
        self.at("error", event, fields)

    def at(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """A line of a level known only at run time."""
        if _State.least <= _LEVELS[level]:
            _State.writer.write(level, event, fields, self.name)


def get(name: str) -> Log:
    """The logger of this name."""
    return Log(name)


def configure(
    *,
    stream: TextIO | None = None,
    human: bool = False,
    level: str = "info",
    redactor: Redactor = REDACTOR,
    phrase: Callable[[Mapping[str, Any]], str | None] = lambda _: None,
) -> None:
    """
    Log to `stream` (stderr), from `level` (debug, info, warning, error) up.

    One JSON object a line, or with `human` one line for a person: the one that `phrase` makes of
    the masked fields, or `time level event key=value…` where it makes None. What the standard
    library's loggers warn of (asyncio) takes the same way.
    """
    import structlog  # noqa: PLC0415 - costly: only who logs pays

    sink = sink_of(stream if stream is not None else sys.stderr)
    out = Output(sink, lambda lines: get("log").warning(LOST, lines=lines))
    render = (lambda e: phrase(e) or _render_human(e)) if human else _render_json
    careful = structlog.wrap_logger(
        out,
        processors=[_rendering(redactor, render)],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
    ).bind()
    _State.writer = _LineWriter(careful, None if human else redactor, out)
    _State.least, _State.out = _LEVELS[level], out
    atexit.register(out.flush, LAST_S)
    _unbridged().addHandler(_Bridge(logging.WARNING))


def lost() -> int:
    """How many lines were lost since `configure`, because they could not be written."""
    return _State.out.lost if _State.out else 0


def reset() -> None:
    """Log nowhere, as before `configure`."""
    _State.least, _State.out = _SILENT, None
    _unbridged()


def _unbridged() -> logging.Logger:
    root = logging.getLogger()
    root.handlers = [h for h in root.handlers if not isinstance(h, _Bridge)]
    return root


class _Bridge(logging.Handler):
    """Carries records of the standard library's loggers over."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record as ours."""
        level = "error" if record.levelno >= logging.ERROR else "warning"
        error = record.exc_info[1] if record.exc_info else None
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            message = str(record.msg)
        Log(record.name).at(level, message, {"exc_info": error} if error else {})


EventDict = MutableMapping[str, Any]


def _rendering(
    redactor: Redactor, render: Callable[[EventDict], str]
) -> Callable[[Any, str, EventDict], str]:
    """The one step from an event to its line: stamp, mask value by value, render."""

    def line(_: Any, level: str, event: EventDict) -> str:
        event.update(level=level, timestamp=_timestamp())
        error = event.pop("exc_info", None)
        if isinstance(error, BaseException):
            event["exception"] = "".join(traceback.format_exception(error))[-4096:]
        return render(redactor.value(dict(event)))

    return line


class _LineWriter:
    """
    Writes lines. The usual JSON line (plain values, ASCII, no secret in it) is encoded once and
    searched as a whole; any other, and with no `quick` redactor every one, goes the careful way.
    """

    def __init__(self, careful: Any, quick: Redactor | None, out: Output) -> None:
        self._careful, self._quick, self._out = careful, quick, out

    def write(self, level: str, event: str, fields: dict[str, Any], name: str) -> None:
        """Write a line of a level that is wanted."""
        quick = self._quick
        if quick is not None and event.__class__ is str and _are_plain(fields.values()):
            stamp = _timestamp()
            line = _encode(
                {**fields, "logger": name, "event": event, "level": level, "timestamp": stamp}
            ).decode()
            if line.isascii() and len(line) < LINE_BYTES and not quick.hits(line):
                self._out.msg(line)
                return
        # The name travels as a field of its own so that a caller's `name=` cannot clash.
        getattr(self._careful, level)(event, **{**fields, "logger": name})


_encode = msgspec.json.Encoder().encode
_PLAIN = frozenset({str, int, float, bool, NoneType})


def _are_plain(values: Iterable[Any]) -> bool:
    """Whether they are plain, or lists of what is plain: with every line, so in one loop."""
    for value in values:
        kind = value.__class__
        if kind not in _PLAIN:
            if kind is not list:
                return False
            for one in value:
                if one.__class__ not in _PLAIN:
                    return False
    return True


def _timestamp() -> str:
    return _millisecond(time.time_ns() // 1_000_000)  # an operator's log: real time


@lru_cache(maxsize=4)  # a busy router writes many lines in one millisecond
def _millisecond(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{_second(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _render_json(event: EventDict) -> str:
    line = json.dumps(event)  # ASCII only: nothing in it can steer a terminal
    if len(line) < LINE_BYTES:
        return line
    text = json.dumps(str(event.get("event", "")))[1:-1][: LINE_BYTES // 2]
    kept = {key: event[key] for key in ("timestamp", "level", "logger") if key in event}
    return json.dumps({**kept, "event": text, "cut": True})


_PLACED = frozenset({"timestamp", "level", "logger", "event", "exception"})
"""What a line for a person has at a place of its own, or leaves out."""


def _render_human(event: EventDict) -> str:
    rest = "".join(f" {key}={_shown(event[key])}" for key in event if key not in _PLACED)
    trace = f" | {visible(str(event['exception']))}" if event.get("exception") else ""
    stamp, message = str(event["timestamp"])[11:19], visible(str(event["event"]))
    line = f"{stamp} {event['level']:<7} {message}{rest}{trace}"
    cut = line.encode("utf-8", "replace")
    return line if len(cut) < LINE_BYTES else cut[: LINE_BYTES - 8].decode("utf-8", "ignore") + " …"


def _shown(value: Any) -> str:
    text = visible(value if isinstance(value, str) else str(value))
    return f'"{text}"' if " " in text or not text else text


def visible(text: str) -> str:
    """The text with everything that could steer a terminal or hide itself written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
