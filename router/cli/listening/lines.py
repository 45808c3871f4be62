"""The texts of a delivery; the same in every view."""

import base64
import shlex

from router.cli.listening.target import Forwarded, headers_of, url_of
from router.cli.output import event_names
from router.legible import moment, pretty, visible
from router.model.packed import plain_body
from router.operator.followed_answers import FollowedDelivery

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
