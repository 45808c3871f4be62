"""The bytes of a request. Whatever is not plainly harmless is not written here but declined."""

import functools
import re
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from router.egress import is_metadata_name, literal_address
from router.kinds.http import HttpCall

AGENT = "webhook-rules-router"
BODY_MAX = 64 * 1024
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
"""HEAD, OPTIONS and what may come: their answers have rules of their own."""
IDEMPOTENT = frozenset({"GET", "PUT", "DELETE"})
_DECLINED = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that change how a message is framed, or where it goes."""
_AUTOMATIC = {"User-Agent": AGENT, "Accept-Encoding": "identity", "Accept": "*/*"}

_URL = re.compile(
    r"http://([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?(?![^/?])"
    r'([!"$-\[\]-~]*)(?<!\?)'  # of ASCII no blanks, no fragment, no backslash, no empty query
).fullmatch
_NAME = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z](?:[a-z0-9-]*[a-z0-9])?").fullmatch
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+").fullmatch


class Origin(NamedTuple):
    """
    Where a call goes: `host` as the operator wrote it, an address without brackets or a name;
    `authority` is what the Host header says.
    """

    host: str
    port: int
    authority: str


class PlainRequest(NamedTuple):
    """One request, ready to be written."""

    origin: Origin
    data: bytes
    timeout_s: float
    connect_timeout_s: float
    idempotent: bool


def place_of(call: HttpCall) -> tuple[Origin, str] | None:
    """Origin and path of a call that may go this way."""
    if call.tls is not None or call.method not in METHODS or len(call.body) > BODY_MAX:
        return None
    if (found := _URL(call.url)) is None:
        return None
    host, port, path = found.groups()
    origin = _origin(host, port)
    if origin is None:
        return None
    return origin, path if path[:1] == "/" else f"/{path}"


def request_of(
    call: HttpCall, place: tuple[Origin, str], headers: tuple[tuple[str, str], ...]
) -> PlainRequest | None:
    """The request with these headers; None when one of them has no place in it."""
    automatic = _automatic(tuple([name for name, _ in headers]))
    if automatic is None or not "".join([value for _, value in headers]).isprintable():
        return None  # line breaks, other control characters and lone surrogates are not printable
    (origin, path), body = place, call.body
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
    length = f"Content-Length: {len(body)}\r\n" if body or call.method != "GET" else ""
    head = (
        f"{call.method} {path} HTTP/1.1\r\nHost: {origin.authority}\r\n"
        f"{automatic}{lines}{length}\r\n"
    )
    idempotent = call.method in IDEMPOTENT
    data = head.encode() + body
    return PlainRequest(origin, data, call.timeout_s, call.connect_timeout_s, idempotent)


@functools.lru_cache(maxsize=1024)
def _origin(host: str, port: str | None) -> Origin | None:
    """
    Addresses in their usual spelling, and names of ASCII that no resolver takes for an address.
    """
    number = int(port or "80")
    bare = host.strip("[]")
    if number > 65_535 or not (_is_usual_address(host, bare) or _is_plain_name(host)):
        return None
    return Origin(bare, number, host if number == 80 else f"{host}:{number}")


def _is_usual_address(host: str, bare: str) -> bool:
    if literal_address(bare) is None:
        return False
    address = ip_address(bare)
    return str(address) == bare and isinstance(address, IPv6Address) == (host != bare)


def _is_plain_name(host: str) -> bool:
    plain = _NAME(host) is not None and len(host) <= 253 and "xn--" not in host
    return plain and not is_metadata_name(host)


@functools.lru_cache(maxsize=1024)
def _automatic(names: tuple[str, ...]) -> str | None:
    """The headers that every request has beside those of these names; None: one is declined."""
    given = {name.lower() for name in names}
    if given & _DECLINED or not all(_TOKEN(name) for name in names):
        return None
    added = (f"{n}: {value}\r\n" for n, value in _AUTOMATIC.items() if n.lower() not in given)
    return "".join(added)
