"""Addresses as texts, and ranges of them."""

import ipaddress
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import Any

Address = IPv4Address | IPv6Address


def parse_address(text: str) -> Address | None:
    """The address, v4-mapped ones as v4; None if it is not one."""
    try:
        parsed = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


def neighbourhood(text: str) -> str:
    """The address, or its /64 of IPv6: who has one address there has them all."""
    if (parsed := parse_address(text)) is None:
        return text
    return str(parsed) if parsed.version == 4 else parsed.exploded[:19]


@lru_cache(maxsize=64)
def _networks(ranges: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(ipaddress.ip_network(r, strict=False) for r in ranges)


def in_ranges(address: str, ranges: tuple[str, ...]) -> bool:
    """Whether a textual address lies in one of the CIDRs; a malformed one lies in none."""
    ip = parse_address(address)
    return ip is not None and any(ip.version == n.version and ip in n for n in _networks(ranges))
