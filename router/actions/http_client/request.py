"""
The bytes of a request, and where it goes. What could break a message, or be read as another host
by somebody else, is not written at all.
"""

import base64
import functools
import re
import ssl
from ipaddress import IPv6Address
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from router.egress import literal_address
from router.kinds.http import HttpCall

BODY_MAX = 64 * 1024
"""Up to this a body is written with its head; a larger one behind it, in pieces."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
IDEMPOTENT = METHODS - {"POST", "PATCH"}
_WITHOUT_LENGTH = IDEMPOTENT - {"PUT", "DELETE"}
_REFUSED = frozenset(
    {"connection", "content-length", "host", "proxy-connection", "transfer-encoding"}
)
"""Headers that change how a message is framed, or where it goes."""
_AUTOMATIC = {"User-Agent": "webhook-rules-router", "Accept-Encoding": "identity", "Accept": "*/*"}

_URL = re.compile(
    r"(?i:http(s)?)://(?:([\w.~!$&'()*+,;=:%-]*)@)?"
    r"(\[[0-9a-fA-F:.]+\]|[^/?#@\\:\[\]]+)(?::([0-9]{0,5}))?(?![^/?#])([^#]*)(?:#.*)?"
).fullmatch
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]").search
_NAME = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?").fullmatch
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+").fullmatch
_UNWRITABLE = re.compile("[\0-\x08\n-\x1f\x7f\ud800-\udfff]").search
_QUOTED = re.compile(r"[^!-~]+")


class Origin(NamedTuple):
    """
    Whose connections may serve a call: `host` is an address without brackets or a name of ASCII,
    `authority` what the Host header says, `tls` what the other side is told and asked.
    """

    host: str
    port: int
    authority: str
    tls: ssl.SSLContext | None


class CallPlace(NamedTuple):
    """What an address leads to; `user` is its name and password, still encoded."""

    secure: bool
    host: str
    port: int
    authority: str
    path: str
    user: str | None


class OutgoingRequest(NamedTuple):
    """One request, ready to be written: `data`, then `rest` piece by piece."""

    origin: Origin
    data: bytes
    rest: bytes
    method: str
    timeout_s: float
    connect_timeout_s: float


@functools.lru_cache(maxsize=256)
def place_of(url: str) -> CallPlace | None:
    """Where an address leads; None: it is malformed, or two could read it differently."""
    if _CONTROL(url) or (found := _URL(url)) is None:
        return None
    secure, user, host, digits, path = found.groups()
    name = _address(host) if host[0] == "[" else _name(host)
    usual = 443 if secure else 80
    port = int(digits or usual)
    if name is None or not 0 < port <= 65_535:
        return None
    shown = f"[{name}]" if host[0] == "[" else name.rstrip(".")
    path = _QUOTED.sub(lambda part: quote(part[0]), path)
    if path.find("?") == len(path) - 1:
        path = path[:-1]  # an empty query, or no path at all
    authority = shown if port == usual else f"{shown}:{port}"
    path = path if path[:1] == "/" else f"/{path}"
    return CallPlace(secure is not None, name, port, authority, path, user)


def request_of(
    call: HttpCall,
    place: CallPlace,
    headers: tuple[tuple[str, str], ...],
    tls: ssl.SSLContext | None,
) -> OutgoingRequest | None:
    """The request with these headers; None when one of them, or the method, cannot be written."""
    method, body, (_, host, port, authority, path, user) = call.method, call.body, place
    if user:
        headers = (*headers, *_basic(user, headers))
    automatic = _automatic(tuple([name for name, _ in headers]))
    values = "".join([value for _, value in headers])
    if automatic is None or not (values.isprintable() or _UNWRITABLE(values) is None):
        return None
    if method not in METHODS:
        return None
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
    length = f"Content-Length: {len(body)}\r\n" if body or method not in _WITHOUT_LENGTH else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: {authority}\r\n{automatic}{lines}{length}\r\n"
    rest = body if len(body) > BODY_MAX else b""
    data = head.encode() if rest else head.encode() + body
    origin = Origin(host, port, authority, tls)
    return OutgoingRequest(origin, data, rest, method, call.timeout_s, call.connect_timeout_s)


def _address(host: str) -> str | None:
    try:
        return str(IPv6Address(host[1:-1]))
    except ValueError:
        return None


def _name(host: str) -> str | None:
    """
    A name in ASCII. What only a resolver would take for an address is one, too; what becomes an
    address by being mapped to ASCII is nothing at all.
    """
    name = host.lower()
    if not host.isascii():
        import idna  # noqa: PLC0415 - 20 ms, for few

        try:
            name = idna.encode(host, uts46=True).decode()
        except UnicodeError:
            return None
        if literal_address(name) is not None:
            return None
    return name if _NAME(name) and len(name) <= 254 else None


def _basic(user: str, headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The header of a name and password in an address, which only a secret one may have."""
    if any(name.lower() == "authorization" for name, _ in headers):
        return ()
    pair = unquote_to_bytes(user if ":" in user else f"{user}:")
    return (("Authorization", "Basic " + base64.b64encode(pair).decode()),)


@functools.lru_cache(maxsize=1024)
def _automatic(names: tuple[str, ...]) -> str | None:
    """The headers that every request has beside those of these names; None: one is refused."""
    given = {name.lower() for name in names}
    if given & _REFUSED or not all(_TOKEN(name) for name in names):
        return None
    added = (f"{n}: {value}\r\n" for n, value in _AUTOMATIC.items() if n.lower() not in given)
    return "".join(added)
