"""
Rows: what a sender says, byte for byte, and all that may come of it.

A row knows no code of the router, so it holds whichever way its listeners are written. Whatever
runs rows (`tests.wire.place`) gives each an endpoint and an address of its own: `/wh_x` in a row's
bytes becomes the path of its endpoint, so that all rows of a router can run side by side.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

PATH = b"/wh_x"
ANY = b"*"
"""In `stored`: some body, whichever."""


@dataclass(frozen=True)
class Pause:
    """Nothing is said for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Heard:
    """The sender goes on when so many answers have come, interim ones counted."""

    count: int = 1


@dataclass(frozen=True)
class Drip:
    """These bytes again and again, one every so many seconds, until an answer comes."""

    data: bytes
    every_s: float = 0.05


@dataclass(frozen=True)
class HalfClose:
    """The sender closes its sending side and goes on listening."""


@dataclass(frozen=True)
class Leave:
    """The sender goes away; what it would have heard nobody knows."""


Step = bytes | Pause | Heard | Drip | HalfClose | Leave


@dataclass(frozen=True)
class Row:
    """
    `sent`: bytes and what happens between them. `said`: the statuses of the answers, then what
    becomes of the connection:

    - `stays`: one more request on it is answered;
    - `lingers`: the router has closed its side, and reads on: whoever still sends loses no answer;
    - `closes`: the router has closed it; of who has closed his own side nothing else is known;
    - `goes`: it has done one or the other;
    - `left`: the sender has gone.

    `stored`: bodies, in the order in which they came. `refused`: what was counted, by reason,
    `x:` before it where the endpoint is known. `head`: what the last answer's head must say (None:
    what it must not name); `body`: its body.

    `on` names the router's settings (`tests.wire.place.SETTINGS`), `endpoint` the settings of its
    endpoint. `door`: `public`, `tls` or `admin`. `after_s`: no end before so many seconds.
    `framing`: it says where one request ends and the next begins, so that any server of HTTP/1.1
    before the router's application answers and stores the same. `cuts`: it is sent as it is, and
    again one byte at a time, and again with a rest between head and body.
    """

    name: str
    sent: tuple[Step, ...]
    said: str
    stored: tuple[bytes, ...] = ()
    refused: tuple[str, ...] = ()
    head: dict[str, str | None] = field(default_factory=dict)
    body: bytes | None = None
    on: str = "usual"
    endpoint: str = "provider: none, verify: none, body_max: 1KiB"
    door: str = "public"
    after_s: float = 0.0
    framing: bool = False
    cuts: bool = False
    pieces: str = "whole"

    @property
    def statuses(self) -> list[int]:
        return [int(word) for word in self.said.split()[:-1]]

    @property
    def end(self) -> str:
        return self.said.split()[-1]

    def at(self, path: bytes) -> "Row":
        """The same where its endpoint has this path."""
        moved = (s.replace(PATH, path) if isinstance(s, bytes) else s for s in self.sent)
        return replace(self, sent=tuple(piece for s in moved for piece in _cut(s, self.pieces)))


def good(name: str, sent: bytes | Iterable[Step], *stored: bytes, **more: object) -> Row:
    """Answered 200, stored, and the connection goes on."""
    said = more.pop("said", " ".join(["200"] * len(stored)) + " stays")
    return Row(name, _steps(sent), str(said), stored, **more)  # type: ignore[arg-type]


def bad(name: str, sent: bytes | Iterable[Step], status: int, *refused: str, **more: object) -> Row:
    """Refused; nothing is stored, nothing behind it is looked at."""
    said = more.pop("said", f"{status} lingers")
    return Row(name, _steps(sent), str(said), refused=refused, **more)  # type: ignore[arg-type]


def _steps(sent: bytes | Iterable[Step]) -> tuple[Step, ...]:
    return (sent,) if isinstance(sent, bytes) else tuple(sent)


def post(
    body: bytes = b"{}",
    *,
    path: bytes = PATH,
    head: bytes = b"",
    method: bytes = b"POST",
    version: bytes = b"1.1",
) -> bytes:
    """A request; `head` holds whole further lines."""
    lines = b"Host: h\r\nContent-Length: %d\r\n%b" % (len(body), head)
    return b"%b %b HTTP/%b\r\n%b\r\n%b" % (method, path, version, lines, body)


def chunked(*parts: bytes) -> bytes:
    """Parts as the chunks of a whole chunked body."""
    return b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"


H = b"POST /wh_x HTTP/1.1\r\nHost: h\r\n"
TE = b"Transfer-Encoding: chunked\r\n"
FULL = b"Content-Length: 2\r\n\r\n{}"


def cut(row: Row) -> Iterable[Row]:
    """The row, and the same bytes as a network may bring them."""
    yield row
    if row.cuts:
        yield replace(row, name=f"{row.name}, bytewise", pieces="bytewise")
        if any(isinstance(s, bytes) and s.partition(b"\r\n\r\n")[2] for s in row.sent):
            yield replace(row, name=f"{row.name}, head first", pieces="head first")


def _cut(step: Step, pieces: str) -> tuple[Step, ...]:
    if not isinstance(step, bytes) or pieces == "whole":
        return (step,)
    if pieces == "bytewise":
        return tuple(step[at : at + 1] for at in range(len(step)))
    first, end, rest = step.partition(b"\r\n\r\n")
    return (first + end, Pause(0.02), rest)
