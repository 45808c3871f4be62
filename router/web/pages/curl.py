"""A stored delivery as a command for a shell: the same bytes, sent by curl."""

import base64

from router.model.delivery import REMOVED, Delivery

BODY_MAX = 65_536
"""Longer bodies are named as a file, to be fetched first."""
_LEFT_OUT = frozenset({"host", "content-length", "transfer-encoding", "connection", "expect"})


def curl(delivery: Delivery, url: str) -> str:
    """
    The command. Headers that the router removed are left out, as are those that belong to the
    connection; nothing in it can become another command.
    """
    query = f"?{delivery.query}" if delivery.query else ""
    lines = [f"curl -sS -X {quoted(delivery.method)} {quoted(url + query)}"]
    for name, value in delivery.headers:
        if name not in _LEFT_OUT and value != REMOVED:
            shown = f"{name}: {value}" if value else f"{name};"
            lines.append(f"-H {quoted(shown)}")
    before, data = _data(delivery)
    return before + " \\\n  ".join([*lines, *data])


def quoted(text: str) -> str:
    """One word of a POSIX shell: what is between single quotes means itself."""
    return "'" + text.replace("'", "'\\''") + "'"


def _data(delivery: Delivery) -> tuple[str, list[str]]:
    """What comes before the command, and its last words."""
    if not (body := delivery.body):
        return "", []
    if len(body) > BODY_MAX:
        return "", [f"--data-binary @{delivery.id}.body"]
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = "\x00"
    if text.isprintable() and not text.startswith("@"):
        return "", [f"--data-binary {quoted(text)}"]
    return f"printf %s {base64.b64encode(body).decode()} | base64 -d | ", ["--data-binary @-"]
