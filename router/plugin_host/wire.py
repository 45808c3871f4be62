"""
What travels between the router and a child: frames, four bytes of length, then JSON.

A Request is followed by the event's body, bare; answers are Ready (once), Begun (what is
known already is not said again) and Ended. What a
plugin prints goes to stdout and stderr and never here.
"""

from decimal import Decimal
from typing import Any, Literal

import msgspec

from router.plugin import Event

TRACE_MAX = 16 * 1024
REASON_MAX = 300


class CallFrame(msgspec.Struct, kw_only=True):
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
    """
    The function is found and about to run; `module` is the SHA-256 of its module's source.

    Sent of a function's first call, and again when its module is another one.
    """

    turn: int
    module: str


class Ended(msgspec.Struct, tag=True, kw_only=True):
    """
    How the call ended.

    `value` is what it returned. `reason` is one line, with `…` at its end where it was cut; `trace`
    is the plugin's own part of the traceback, its last 16 KiB. `rss` is the
    memory of the process in bytes; `spoilt` says that it should not be used again.
    """

    turn: int
    kind: Literal["done", "retry", "fail", "error"]
    value: msgspec.Raw = msgspec.Raw(b"null")
    reason: str = ""
    after: float | None = None
    trace: str = ""
    rss: int = 0
    spoilt: bool = False


Answer = Ready | Begun | Ended

_ENCODER = msgspec.json.Encoder(decimal_format="number")


def frame(value: Any) -> bytes:
    """A value as it travels."""
    text = _ENCODER.encode(value)
    return len(text).to_bytes(4, "big") + text


decode_request = msgspec.json.Decoder(CallFrame, float_hook=Decimal).decode
"""A request as the router wrote it; fractions come as decimals."""
