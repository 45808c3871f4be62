"""Ranges of addresses."""

import ipaddress
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=64)
def _networks(ranges: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(ipaddress.ip_network(r, strict=False) for r in ranges)


def in_ranges(address: str, ranges: tuple[str, ...]) -> bool:
    """Whether a textual address lies in one of the CIDRs; a malformed one lies in none."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return any(ip.version == net.version and ip in net for net in _networks(ranges))
