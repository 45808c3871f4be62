"""`server.admin`: where the admin listener is, who may call it, by which names it is called."""

import ipaddress
import re
from collections.abc import Callable
from typing import Any

from router.config.context import LoadContext
from router.config.server_schema import AdminEntry, AdminTokenEntry
from router.model.settings import AdminToken
from router.yaml_source import SourceText

RESERVED = ("anyone", "local", "token")
"""Names in the audit that are not tokens."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


def settings(
    context: LoadContext,
    entry: AdminEntry | None,
    address: Callable[[AdminEntry | None, str], str],
) -> dict[str, Any]:
    """The settings of `server` that `admin` decides; `address` reads where to listen."""
    default = "127.0.0.1:8001"
    if entry is None:
        return {"admin": default}
    has_place = entry.text or entry.env or entry.listen or entry.broken
    listen = address(entry, default) if has_place else default
    tokens = tuple(_token(context, name, one) for name, one in entry.tokens or ())
    if not (tokens or entry.broken or context.dev or is_local(listen)):
        context.error(
            "admin-without-token",
            f"the admin listener at {listen} is open to other machines, and no token is named",
            entry.listen or entry.text or entry.node,
            "name one in server.admin.tokens, or listen on 127.0.0.1",
        )
    return {
        "admin": listen,
        "admin_tokens": tokens,
        "admin_hosts": tuple(_host(context, text) for text in entry.hosts or ()),
    }


def _token(context: LoadContext, name: SourceText, entry: AdminTokenEntry) -> AdminToken:
    if not _NAME.fullmatch(name.value) or name.value in RESERVED:
        context.error(
            "bad-name",
            f"'{name.value[:60]}' cannot be the name of a token",
            name,
            f"{', '.join(RESERVED)} stand for others in the audit"
            if name.value in RESERVED
            else "use small letters, digits, '_' and '-'; the audit shows it",
        )
    return AdminToken(
        name.value,
        context.secret(entry.secret),
        entry.role or "viewer",
        True if entry.bodies is None else entry.bodies,
    )


def _host(context: LoadContext, text: SourceText) -> str:
    if not _HOST.fullmatch(text.value) and not _is_address(text.value):
        context.error(
            "bad-address",
            f"'{text.value[:60]}' is not the name of a host",
            text,
            "write it without scheme and port",
        )
    return text.value.lower()


def is_local(listen: str) -> bool:
    """Whether only this machine can reach who listens there (HOST:PORT)."""
    host = listen.rpartition(":")[0].strip("[]").lower()
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
