"""
The child's side of a `python` action: a process that runs plugin functions, one at a time.

Started as `python -P -m router.plugin_host DESCRIPTOR BYTES` in the folder of the rules file: the
descriptor is a socket to the router, BYTES bound the memory of the process. On the socket travel
frames: four bytes of length, then JSON. A Request is followed by the event's body, bare; answers
are Ready (once), Begun and Ended. What a plugin prints goes to stdout and stderr and never here.
"""

import contextlib
import hashlib
import importlib
import logging
import math
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from decimal import Decimal
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Literal

import msgspec

from router.errors import EgressRefused
from router.plugin import Context, Event, Fail, PlainContext, Retry

FOLDER = "plugins"
GROUP = "router.plugins"
RESULT_MAX = 64 * 1024
DEPTH_MAX = 64
TRACE_MAX = 16 * 1024
REASON_MAX = 300
THREADS_MAX, DESCRIPTORS_MAX = 16, 128
"""A process that a plugin leaves with more of these is not used again."""
LOST = 70
"""The exit status when the router can no longer be told anything."""


class Request(msgspec.Struct, kw_only=True):
    """
    One call. `turn` comes back in its answers; `body_bytes` of body follow the frame.

    `env` is the whole environment. `egress` and `hosts` are as in `router.plugin.Context`.
    """

    turn: int
    call: str
    event: Event
    args: dict[str, Any]
    secrets: dict[str, str]
    egress: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    env: dict[str, str]
    body_bytes: int = 0


class Ready(msgspec.Struct, tag=True):
    """The process has started."""


class Begun(msgspec.Struct, tag=True):
    """The function is found and about to run; `module` is the SHA-256 of its module's source."""

    turn: int
    module: str


class Ended(msgspec.Struct, tag=True, kw_only=True):
    """
    How the call ended.

    `value` is what it returned. `trace` is the plugin's own part of the traceback. `rss` is the
    memory of the process in bytes; `spoilt` says that it should not be used again.
    """

    turn: int
    kind: Literal["done", "retry", "fail", "error"]
    value: msgspec.Raw = msgspec.Raw(b"null")  # noqa: RUF009 - a constant
    reason: str = ""
    after: float | None = None
    trace: str = ""
    rss: int = 0
    spoilt: bool = False


Answer = Ready | Begun | Ended


class NotJson(Exception):
    """What a plugin returned is no JSON value, or too large; the text says where and why."""


class Wrong(Exception):
    """A call names no module or function; the text says which."""


# -- JSON -----------------------------------------------------------------------------------------

_REQUEST = msgspec.json.Decoder(Request, float_hook=Decimal)
_ENCODER = msgspec.json.Encoder(decimal_format="number")


def frame(value: Any) -> bytes:
    """A value as it travels."""
    text = _ENCODER.encode(value)
    return len(text).to_bytes(4, "big") + text


def encode_result(value: Any) -> bytes:
    """
    What a plugin returned, as JSON text.

    Raises:
        NotJson: it is none, or over 64 KiB.
    """
    room = [RESULT_MAX]
    _check(value, "the result", DEPTH_MAX, room)
    try:
        text = _ENCODER.encode(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise NotJson(f"the result cannot be written as JSON: {error}") from None
    if len(text) > RESULT_MAX:
        raise NotJson(f"the result is {len(text)} bytes of JSON, and {RESULT_MAX} may be kept")
    return text


def _check(value: Any, place: str, depth: int, room: list[int]) -> None:
    """Refuse what is not JSON by itself; `room` counts down the values that can still fit."""
    room[0] -= 1
    if room[0] < 0:
        raise NotJson(f"the result is over {RESULT_MAX} bytes of JSON")
    if depth == 0:
        raise NotJson(f"the result is nested deeper than {DEPTH_MAX}")
    if value is None or isinstance(value, str | bool | int):
        return
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            raise NotJson(f"{place} is {value}, which JSON does not have")
        return
    for name, child in _children(value, place):
        _check(child, name, depth - 1, room)


def _children(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list | tuple):
        yield from ((f"{place}[{i}]", child) for i, child in enumerate(value))
    elif isinstance(value, dict):
        for key, child in value.items():
            if not isinstance(key, str):
                raise NotJson(f"a key of {place} is a {type(key).__name__}, not a text")
            yield f"{place}.{key[:40]}", child
    else:
        raise NotJson(f"{place} is a {type(value).__name__}, not a JSON value")


# -- finding the function -------------------------------------------------------------------------


class Loader(SourceFileLoader):
    """
    Compiles a plugin's source as it is now and remembers its SHA-256.

    No .pyc is read or written: one of the same second and size would be taken for the new text.
    """

    hashes: dict[str, str] = {}  # noqa: RUF012 - one table a process is meant

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        source = self.get_data(path)
        self.hashes[fullname] = hashlib.sha256(source).hexdigest()
        return self.source_to_code(source, path)


def open_folder(folder: str) -> None:
    """Let `import` find what lies in the plugins folder, after everything installed."""

    def finder(path: str) -> FileFinder:
        if path != folder and not path.startswith(folder + os.sep):
            raise ImportError("not of the plugins folder")
        return FileFinder(
            path, (ExtensionFileLoader, EXTENSION_SUFFIXES), (Loader, SOURCE_SUFFIXES)
        )

    sys.path_hooks.insert(0, finder)
    sys.path.append(folder)


def find(call: str, folder: str) -> tuple[Callable[..., Any], str]:
    """
    The function that `module:function` names, and the SHA-256 of its module's source.

    The module is one of the plugins folder, else an entry point of the group `router.plugins`; an
    entry point may also name the function itself, and is then called by its name alone.

    Raises:
        Wrong: there is none.
    """
    name, _, function = call.partition(":")
    if not _in_folder(name.partition(".")[0], folder):
        name, function = _entry_point(name, function)
    module = importlib.import_module(name)
    found: Any = module
    for part in function.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise Wrong(f"the module '{name}' has no function '{function}'")
    return found, Loader.hashes.get(name) or _hash_of(module)


def _in_folder(top: str, folder: str) -> bool:
    place = Path(folder) / top
    return place.with_suffix(".py").is_file() or place.is_dir()


def _entry_point(name: str, function: str) -> tuple[str, str]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - 20 ms that most never pay

    for point in entry_points(group=GROUP, name=name):
        return point.module, function or point.attr
    raise Wrong(f"there is no plugin '{name}', neither in {FOLDER}/ nor installed")


def _hash_of(module: ModuleType) -> str:
    try:
        return hashlib.sha256(Path(module.__file__ or "").read_bytes()).hexdigest()
    except OSError:
        return ""


# -- running it -----------------------------------------------------------------------------------


def run(request: Request, begun: Callable[[str], None], folder: str) -> Ended:
    """Run one call to its end, whatever it raises. `begun` gets the module's SHA-256."""
    try:
        function, module = find(request.call, folder)
        begun(module)
        value = encode_result(_call(function, request))
        return Ended(turn=request.turn, kind="done", value=msgspec.Raw(value))
    except BaseException as error:  # noqa: BLE001 - SystemExit of a plugin ends its attempt only
        return _ended(request.turn, error)


def _call(function: Callable[..., Any], request: Request) -> Any:
    import inspect  # noqa: PLC0415 - asyncio and dataclasses bring it, a small plugin may not

    kept = {"attempt": request.event.attempt, "egress": request.egress, "hosts": request.hosts}
    logger = logging.getLogger(request.call.partition(":")[0])
    if inspect.iscoroutinefunction(function):
        import asyncio  # noqa: PLC0415 - plain functions are spared it

        with asyncio.Runner() as runner:
            context = Context(secrets=request.secrets, logger=logger, **kept)
            return runner.run(_awaited(function, request, context))
    plain = PlainContext(secrets=request.secrets, logger=logger, **kept)
    try:
        return function(request.event, plain, **request.args)
    finally:
        plain.close()


async def _awaited(function: Callable[..., Any], request: Request, context: Context) -> Any:
    try:
        return await function(request.event, context, **request.args)
    finally:
        await context.close()


def _ended(turn: int, error: BaseException) -> Ended:
    raised = _steering(error)
    if isinstance(raised, Retry):
        return Ended(turn=turn, kind="retry", reason=_cut(raised.reason), after=raised.after)
    if isinstance(raised, Fail):
        return Ended(turn=turn, kind="fail", reason=_cut(raised.reason))
    if isinstance(raised, EgressRefused):
        return Ended(turn=turn, kind="fail", reason="the egress rules do not allow this address")
    if isinstance(error, NotJson | Wrong):
        return Ended(turn=turn, kind="error", reason=_cut(error))
    name, text = type(error).__name__, _cut(error)
    return Ended(
        turn=turn,
        kind="error",
        reason=f"{name}: {text}" if text else name,
        trace=_trace(error),
        spoilt=not isinstance(error, Exception) or isinstance(error, MemoryError),
    )


def _steering(error: BaseException) -> BaseException:
    """The Retry, Fail or refusal within a task group's exception; Fail goes first."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    inner = [_steering(e) for e in error.exceptions]
    for kind in (Fail, EgressRefused, Retry):
        for one in inner:
            if isinstance(one, kind):
                return one
    return error


def _cut(text: object) -> str:
    """One bounded line; a foreign __str__ may do anything."""
    try:
        shown = " ".join(str(text).split())
    except BaseException:  # noqa: BLE001 - see above
        return ""
    return shown if len(shown) <= REASON_MAX else shown[: REASON_MAX - 1] + "…"


def _trace(error: BaseException) -> str:
    """The traceback from the plugin's first frame on, its last 16 KiB."""
    ours = (__file__, "<frozen importlib", os.path.join(os.path.dirname(os.__file__), "asyncio"))  # noqa: PTH118, PTH120 - frames hold texts
    tail = error.__traceback__
    while tail is not None and tail.tb_frame.f_code.co_filename.startswith(ours):
        tail = tail.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, tail))
    except BaseException:  # noqa: BLE001 - a foreign __str__ may do anything
        return type(error).__name__
    return text[-TRACE_MAX:]


# -- the process ----------------------------------------------------------------------------------


class Host:
    """Answers requests on one socket until the other side closes it."""

    def __init__(self, channel: socket.socket, folder: str) -> None:
        self._channel = channel
        self._folder = folder
        self._pid = os.getpid()
        self._cwd = os.getcwd()  # noqa: PTH109 - a text to go back to

    def serve(self) -> None:
        """Until the router closes the socket; leaves by an OSError when the socket is broken."""
        self._send(Ready())
        while (head := self._read(4)) is not None:
            text = self._read(int.from_bytes(head, "big"))
            if text is None:
                return
            request = _REQUEST.decode(text)
            request.event = msgspec.structs.replace(
                request.event, body=bytes(self._read(request.body_bytes) or b"")
            )
            self._answer(request)

    def _answer(self, request: Request) -> None:
        os.chdir(self._cwd)
        os.environ.clear()
        os.environ.update(request.env)
        ended = run(request, lambda m: self._send(Begun(request.turn, m)), self._folder)
        if os.getpid() != self._pid:
            os._exit(0)  # a fork that came back: only the first process answers
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        ended.rss = memory_used()
        ended.spoilt = ended.spoilt or _littered()
        self._send(ended)

    def _send(self, answer: Answer) -> None:
        self._channel.sendall(frame(answer))

    def _read(self, count: int) -> bytearray | None:
        """So many bytes, or None at the end of the stream."""
        found = bytearray(count)
        view, have = memoryview(found), 0
        while have < count:
            got = self._channel.recv_into(view[have:])
            if not got:
                return None
            have += got
        return found


def memory_used() -> int:
    """The resident memory of this process in bytes."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        import resource  # noqa: PLC0415 - where there is no /proc

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _littered() -> bool:
    """Whether a plugin left many threads or open files behind."""
    try:
        descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count is all
    except OSError:
        descriptors = 0
    return threading.active_count() > THREADS_MAX or descriptors > DESCRIPTORS_MAX


def _bound(memory: int) -> None:
    """Bound the memory, leave no core file, and be the first to go when memory is short."""
    import resource  # noqa: PLC0415 - the parent, which imports this module for its types, needs none

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")


def _end_with_parent(channel: socket.socket) -> None:
    """
    Watch for the router's end from a thread: then the whole group goes, even in an endless loop.

    Else the job, which the next router runs again, would run twice at once.
    """
    poll = select.poll()
    poll.register(channel.fileno(), 0)

    def watch() -> None:
        poll.poll()
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="router", daemon=True).start()


class _Lines(logging.StreamHandler[Any]):
    """Writes to whatever sys.stderr is now: a plugin may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def main(arguments: list[str]) -> None:
    """Serve until the router closes the socket, then leave without waiting for any thread."""
    channel = socket.socket(fileno=int(arguments[0]))
    channel.set_inheritable(False)
    _bound(int(arguments[1]))
    _end_with_parent(channel)
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", handlers=[_Lines()]
    )
    folder = str(Path.cwd() / FOLDER)
    open_folder(folder)
    try:
        Host(channel, folder).serve()
    except OSError:
        os._exit(LOST)  # the socket is gone: a plugin closed it, or the router died
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
