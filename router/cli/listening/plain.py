"""The texts of a delivery, and the views for pipes and CI: a line each, or a JSON object each."""

import base64
import shlex
from typing import Any

import click
import msgspec

from router.cli.listening.target import Forwarded, headers_of, url_of
from router.cli.output import event_names, note
from router.legible import moment, pretty, visible
from router.model.packed import plain_body
from router.operator.followed_answers import FollowedDelivery
from router.operator.times import dates

_TEXT_MAX = 65_536


def names_of(arrived: FollowedDelivery) -> str:
    """Its events, for a line."""
    return event_names((event.name for event in arrived.events), arrived.event_count) or "-"


def line(forwarded: Forwarded) -> list[str]:
    """The cells of one line: time, endpoint, event, status, latency, delivery, and a remark."""
    arrived = forwarded.arrived
    again = None if forwarded.again_in_s is None else f"again in {forwarded.again_in_s:g} s"
    cells = [
        moment(forwarded.at)[11:],
        arrived.endpoint,
        names_of(arrived)[:40],
        "-" if forwarded.status is None else str(forwarded.status),
        f"{forwarded.took_ms:.0f} ms",
        arrived.id,
        ", ".join(part for part in (forwarded.error, again) if part),
    ]
    return [visible(cell) for cell in cells]


def shown(arrived: FollowedDelivery) -> str:
    """The whole delivery for reading."""
    head = [f"{arrived.id}  {arrived.endpoint}  {names_of(arrived)}  {moment(arrived.received_at)}"]
    query = f"?{arrived.query}" if arrived.query else ""
    lines = [f"{arrived.method} {arrived.path}{query}"]
    lines += [f"{name}: {value}" for name, value in arrived.headers]
    body = pretty(plain_body(arrived.delivery())).split("\n") if arrived.body else []
    return "\n".join([visible(text) for text in head] + [f"  {visible(x)}" for x in lines] + body)


def curl(arrived: FollowedDelivery, to: str) -> str:
    """A command that sends it once more; nothing in it can become another command."""
    words = ["curl", "-sS", "-X", arrived.method, url_of(to, arrived)]
    for name, value in headers_of(arrived):
        words += ["-H", f"{name}: {value}" if value else f"{name};"]
    if (text := _text(arrived.body)) is not None:
        return shlex.join([*words, *(["--data-raw", text] if text else [])])
    packed = base64.b64encode(arrived.body).decode("ascii")
    return f"printf %s {packed} | base64 -d | {shlex.join([*words, '--data-binary', '@-'])}"


def _text(body: bytes) -> str | None:
    """The body as one word of a command line, if it fits one."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() and len(body) <= _TEXT_MAX else None


class PlainView:
    """Shows how it goes: aligned lines on stdout, everything else on stderr."""

    _connection: str | None = ""

    def forwarded(self, forwarded: Forwarded) -> None:
        """A delivery was forwarded, or tried to be: one line a try."""
        time, endpoint, names, status, took, id_, said = line(forwarded)
        text = f"{time}  {endpoint:<12}  {names:<24}  {status:>3}  {took:>8}  {id_}  {said}"
        click.echo(text.rstrip())

    def connection(self, why_not: str | None, again_in_s: float) -> None:
        """The signal is connected (None), or is not, and why; printed when that changes."""
        if why_not != self._connection:
            self._connection = why_not
            self._connected(why_not, again_in_s)

    def _connected(self, why_not: str | None, again_in_s: float) -> None:
        text = "connected to the router"
        if why_not is not None:
            text = f"reconnecting: {visible(why_not)}; again in {again_in_s:.1f} s"
        note(text)

    def target_down(self, to: str, why: str) -> None:
        """At the start: the router answers, but the target does not."""
        text = f"{visible(to)}: {visible(why)}; deliveries wait until it accepts them"
        self.note(text, "yellow")

    def gap(self, removed: int, *, other: bool) -> None:
        """Deliveries are missing, for good."""
        what = "1 delivery was" if removed == 1 else f"{removed} deliveries were"
        text = f"{what} removed by retention before this listener came to them (all endpoints)"
        if other:
            text = (
                "the router's store is not the one of the checkpoint (a backup was restored, or "
                "the store is new); continuing with what came after the last delivery seen"
            )
        self.note(f"GAP: {text}", "bold red")

    def note(self, text: str, style: str = "dim") -> None:
        """Anything else; `style` is for a terminal."""
        del style
        note(text)


class JsonView(PlainView):
    """One JSON object a line: deliveries, gaps and changes of the connection alike."""

    def forwarded(self, forwarded: Forwarded) -> None:
        """One object a try."""
        _print(dates(forwarded.as_json()))

    def _connected(self, why_not: str | None, again_in_s: float) -> None:
        state = "connected" if why_not is None else "reconnecting"
        _print({"connection": state, "why": why_not, "again_in_s": round(again_in_s, 1)})

    def target_down(self, to: str, why: str) -> None:
        """One object."""
        _print({"target_down": {"to": to, "why": why}})

    def gap(self, removed: int, *, other: bool) -> None:
        """What is missing."""
        _print({"gap": {"removed": removed, "other_ledger": other}})


def _print(value: dict[str, Any]) -> None:
    click.echo(msgspec.json.encode(value).decode("utf-8"))
