"""
Where rows run: a router that is served, and what its operator's interface says came of them.

Another server runs them as well: write `rules(rows)` to its rules file, serve it, and give
`run(rows, Place(public=(HOST, PORT), admin_url=URL, token=TOKEN))` its addresses; `problems(row,
outcome, strict=False)` then holds a row of `framing` to its statuses and its bodies alone, since
words, counts and how a connection lingers are the router's own listener's.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.acceptance.process import Rig, RouterProcess
from tests.wire.row import ANY, Row, post
from tests.wire.sending import Seen, opened, played

SETTINGS = {
    "usual": "header_timeout: 60s, body_idle: 60s, body_total: 60s, keep_alive: 60s, answer: 60s",
    "short": "header_timeout: 300ms, body_idle: 300ms, answer: 300ms,"
    " body_total: 60s, keep_alive: 60s",
    "small": "headers: 10, header_bytes: 1KiB, uri_bytes: 1KiB, keep_alive: 300ms,"
    " body_total: 600ms, header_timeout: 60s, body_idle: 60s, answer: 60s",
}
"""`server.limits`: long deadlines where none shall pass, short ones where they shall."""
TOKEN = "a-made-up-token-of-more-than-32-bytes"
ISSUED = """providers:
  issued:
    verify:
      scheme: introspection
      introspect: {url: "https://127.0.0.1:PORT/", client_id: router, client_secret: token}
    event: {field: type}
"""
FURTHER = b'"further"'
TOGETHER = 40
"""So many rows run at once."""


@dataclass(frozen=True)
class Place:
    """Addresses of one served router. `trusting` knows its certificate, if it has one."""

    public: tuple[str, int]
    admin_url: str
    token: str = ""
    admin: tuple[str, int] = ("", 0)
    trusting: ssl.SSLContext | None = None

    def asking(self) -> httpx.Client:
        """Whoever may ask the operator's interface."""
        given = {"authorization": f"Bearer {self.token}"}
        trust = self.trusting or False  # without a certificate nothing is to be verified
        return httpx.Client(base_url=self.admin_url, headers=given, verify=trust, trust_env=False)

    def deliveries(self) -> list[tuple[str, str]]:
        """The endpoint and id of each, newest first."""
        found, cursor = list[tuple[str, str]](), ""
        with self.asking() as client:
            while True:
                query = {"limit": "500", **({"cursor": cursor} if cursor else {})}
                page = client.get("/api/deliveries", params=query).raise_for_status().json()
                found += [(one["endpoint"], one["id"]) for one in page["deliveries"]]
                if not (cursor := page.get("next") or ""):
                    return found

    def stored(self) -> dict[str, list[bytes]]:
        """Bodies by endpoint, oldest first."""
        found = dict[str, list[bytes]]()
        with self.asking() as client:
            for endpoint, id_ in reversed(self.deliveries()):
                body = client.get(f"/api/deliveries/{id_}/body").raise_for_status().content
                found.setdefault(endpoint, []).append(body)
        return found

    def refused(self) -> dict[str, list[tuple[str | None, str]]]:
        """Endpoint and reason by the sender's address, oldest first."""
        found = dict[str, list[tuple[str | None, str]]]()
        with self.asking() as client:
            page = client.get("/api/refusals?limit=500").raise_for_status().json()
        for one in page["refusals"]:
            if one["reason"] != "not_answered":  # an issuer's fault, told when its time is over
                found.setdefault(one["peer"], []).insert(0, (one["endpoint"], one["reason"]))
        return found


@dataclass
class Outcome:
    """What became of one row, by the connection and by the operator's interface."""

    seen: Seen
    stored: list[bytes] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def rules(rows: Sequence[Row], issuer: int = 0) -> str:
    """
    A rules file's endpoints, one for each row, and what they may need; `issuer`: the port of who is
    asked about tokens.
    """
    lines = [
        f"  x{n}: {{paths: [/wh_x{n}], dedupe: off, {row.endpoint}}}\n"
        for n, row in enumerate(rows)
    ]
    asked = ISSUED.replace("PORT", str(issuer)) if issuer else ""
    return "secrets: {token: {env: TOKEN}}\n" + asked + "endpoints:\n" + "".join(lines)


def run(rows: Sequence[Row], place: Place) -> dict[str, Outcome]:
    """Every row, side by side; the outcomes by name."""
    seen = asyncio.run(_all(rows, place))
    stored, refused = place.stored(), place.refused()
    return {
        row.name: Outcome(
            seen[number],
            [body for body in stored.get(f"x{number}", []) if body != FURTHER],
            [
                reason
                if endpoint is None
                else f"{'x' if endpoint == f'x{number}' else '?'}:{reason}"
                for endpoint, reason in refused.get(_address(number), [])
            ],
        )
        for number, row in enumerate(rows)
    }


async def _all(rows: Sequence[Row], place: Place) -> list[Seen]:
    room = asyncio.Semaphore(TOGETHER)

    async def one(number: int, row: Row) -> Seen:
        path = b"/wh_x%d" % number
        door = place.admin if row.door == "admin" else place.public
        further = b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        if row.door != "admin":
            further = post(
                FURTHER, path=path, head=b"Authorization: Bearer %b\r\n" % TOKEN.encode()
            )
        async with room:
            tls = place.trusting if row.door == "tls" else None
            return await played(await opened(door, _address(number), tls), row.at(path), further)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number, row)) for number, row in enumerate(rows)]
    return [task.result() for task in tasks]


def _address(number: int) -> str:
    """Whose connection it is: all of 127.0.0.0/8 is this machine."""
    return f"127.77.{number // 250}.{number % 250 + 1}"


def problems(row: Row, outcome: Outcome, *, strict: bool = True) -> list[str]:
    """What is not as the row says."""
    seen, found = outcome.seen, list[str]()
    statuses, said = [answer.status for answer in seen.answers], row.statuses
    if (
        not strict and seen.end == "breaks off"
    ):  # a reset takes answers with it: theirs do not linger
        said = said[: len(statuses)]
    gone = ("goes", "closes", "lingers", "breaks off")[: 3 if strict else 4]
    alike = (row.end == "goes" or not strict) and {seen.end, row.end} <= {*gone}
    if statuses != said or not (alike or seen.end == row.end) or (strict and seen.odd):
        found.append(f"said {seen}, not {row.said}")
    if len(outcome.stored) != len(row.stored) or any(
        b not in (a, ANY) for a, b in zip(outcome.stored, row.stored, strict=False)
    ):
        found.append(f"stored {outcome.stored}, not {list(row.stored)}")
    if not strict:
        return found
    if outcome.refused != list(row.refused):
        found.append(f"counted {outcome.refused}, not {list(row.refused)}")
    if seen.seconds < row.after_s and row.end != "stays":
        found.append(f"ended after {seen.seconds:.2f} s, not {row.after_s}")
    if seen.answers:
        last = seen.answers[-1]
        found += [
            f"{name}: {last.head.get(name)!r}, not {value!r}"
            for name, value in row.head.items()
            if last.head.get(name) != value
        ]
        if row.body is not None and last.body != row.body:
            found.append(f"body {last.body!r}")
    return found


@contextlib.contextmanager
def served(
    folder: Path, endpoints: str, server: str = "", **environ: str
) -> Iterator[tuple[Place, RouterProcess]]:
    """A router in a process of its own; `server` is what stands below its settings."""
    rig = Rig(folder / "router", endpoints, {"TOKEN": TOKEN, **environ}, server)
    with rig.router() as router:
        yield place_of(rig), router


def place_of(rig: Rig, trusting: ssl.SSLContext | None = None) -> Place:
    token = Path(f"{rig.store}.token").read_text("ascii").strip()
    admin = ("127.0.0.1", rig.admin)
    return Place(("127.0.0.1", rig.listen), f"http://127.0.0.1:{rig.admin}", token, admin, trusting)
