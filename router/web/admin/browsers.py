"""Requests that a page of another site makes a browser send: they are turned away."""

from collections.abc import Collection

from router.egress import listens_locally
from router.model.addresses import parse_address
from router.web.admin.problems import Headers, Rejected
from router.web.client_address import is_loopback

_FORWARDED = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip"})


class Hosts:
    """
    The names that a Host header may carry: loopback ones, the address listened on, and `more`.

    Any address by number will do where the listener is open beyond loopback: only a name can be
    made to point here by a stranger.
    """

    def __init__(self, listen: str, more: Collection[str] = ()) -> None:
        host = listen.rpartition(":")[0].strip("[]").lower()
        self._numbers = not listens_locally(listen)
        names = {"localhost", host, *(name.lower() for name in more)}
        self._names = {name for name in names if name and not _is_any(name)}

    def check(self, headers: Headers) -> str:
        """
        The Host header as given, in lower case.

        Raises:
            Rejected: it is not ours: a page of another name may have been pointed here.
        """
        host = (header(headers, b"host") or "").lower()
        name = _host_name(host)
        address = parse_address(name)
        numbered = self._numbers and address is not None and not address.is_unspecified
        if name in self._names or is_loopback(name) or numbered:
            return host
        raise Rejected(400, "this name is not served here; server.admin.hosts names those that are")


def check_origin(headers: Headers, scheme: str, host: str) -> None:
    """
    A browser that comes from elsewhere says so, whatever it can prove.

    Raises:
        Rejected: it does.
    """
    origin = header(headers, b"origin")
    site = header(headers, b"sec-fetch-site")
    # Behind a proxy with TLS browsers say https of what is http here; the port is ours either way.
    foreign = origin is not None and origin.lower() not in (f"{scheme}://{host}", f"https://{host}")
    if foreign or site not in (None, "same-origin", "none"):
        raise Rejected(403, "requests from other sites are not allowed")


def header(headers: Headers, wanted: bytes) -> str | None:
    """
    The one value of a header.

    Raises:
        Rejected: it is given twice, which is as good as wrong.
    """
    values = [value for name, value in headers if name == wanted]
    if len(values) > 1:
        raise Rejected(400, f"{wanted.decode('ascii')} is given twice")
    return values[0].decode("latin-1") if values else None


def is_on_this_machine(client: tuple[str, int] | None, headers: Headers, own: str = "") -> bool:
    """On this machine itself, one `own` address of it too, and not through a proxy on it."""
    forwarded = any(name in _FORWARDED for name, _ in headers)
    return client is not None and not forwarded and (is_loopback(client[0]) or client[0] == own)


def _host_name(host: str) -> str:
    """The name of a Host header, without port and brackets; empty when it is malformed."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        port = port.removeprefix(":") if bracket else "?"
    else:
        name, _, port = host.partition(":")
    return name if not port or (port.isascii() and port.isdigit()) else ""


def _is_any(name: str) -> bool:
    """0.0.0.0 and :: are where to listen, not a name that anybody calls."""
    parsed = parse_address(name)
    return parsed is not None and parsed.is_unspecified
