"""One call of a plugin's function, whatever it raises."""

import logging
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from router.errors import EgressRefused
from router.plugin import Context, Fail, PlainContext, Retry
from router.plugin_host.finding import BadReference, find
from router.plugin_host.result import ResultNotJson, encode_result
from router.plugin_host.wire import REASON_MAX, TRACE_MAX, CallFrame, Ended

_OURS = (str(Path(__file__).parent), str(Path(os.__file__).parent / "asyncio"), "<frozen importlib")
"""Where a traceback's frames are not the plugin's."""
C = TypeVar("C", Context, PlainContext)


def run(request: CallFrame, begun: Callable[[str], None], folder: str) -> Ended:
    """Run one call to its end, whatever it raises. `begun` gets the module's SHA-256."""
    try:
        function, module = find(request.call, folder)
        begun(module)
        value = encode_result(_call(function, request))
        return Ended(turn=request.turn, kind="done", value=msgspec.Raw(value))
    except BaseException as error:  # noqa: BLE001 - SystemExit of a plugin ends its attempt only
        return _ended(request.turn, error)


def _call(function: Callable[..., Any], request: CallFrame) -> Any:
    import inspect  # noqa: PLC0415 - asyncio and dataclasses bring it, a small plugin may not

    if inspect.iscoroutinefunction(function):
        import asyncio  # noqa: PLC0415 - plain functions are spared it

        with asyncio.Runner() as runner:
            return runner.run(_awaited(function, request, _context(Context, request)))
    plain = _context(PlainContext, request)
    try:
        return function(request.event, plain, **request.args)
    finally:
        plain.close()


def _context(kind: type[C], request: CallFrame) -> C:
    return kind(
        secrets=request.secrets,
        attempt=request.event.attempt,
        egress=request.egress,
        hosts=request.hosts,
        logger=logging.getLogger(request.call.partition(":")[0]),
        traceparent=request.env.get("TRACEPARENT"),
    )


async def _awaited(function: Callable[..., Any], request: CallFrame, context: Context) -> Any:
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
        return Ended(turn=turn, kind="fail" if raised.lasting else "error", reason=_cut(raised))
    if isinstance(error, ResultNotJson | BadReference):
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
    tail = error.__traceback__
    while tail is not None and tail.tb_frame.f_code.co_filename.startswith(_OURS):
        tail = tail.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, tail))
    except BaseException:  # noqa: BLE001 - a foreign __str__ may do anything
        return type(error).__name__
    return text[-TRACE_MAX:]
