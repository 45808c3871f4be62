"""Whether an address that a request names may be fetched: only of hosts that a definition lists."""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

ADDRESS_MAX = 2048
HOST = re.compile(r"\.?[a-z0-9-]+(\.[a-z0-9-]+)+")
"""A host of such a list, exact, or the end of one that begins with a dot; never an IP address."""
_PRINTABLE = re.compile(r"[!-~]+")


def is_allowed(address: str, hosts: Iterable[str]) -> bool:
    """Is it https, at the usual port, without a user, on one of these hosts?"""
    if len(address) > ADDRESS_MAX or not _PRINTABLE.fullmatch(address) or "\\" in address:
        return False
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    plain = parts.scheme == "https" and port in (None, 443) and "@" not in parts.netloc
    return plain and any(_is_on(host, allowed) for allowed in hosts)


def _is_on(host: str, allowed: str) -> bool:
    if not HOST.fullmatch(host) or host.startswith("."):
        return False
    return host.endswith(allowed) if allowed.startswith(".") else host == allowed
