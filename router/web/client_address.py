"""Who sends: addresses, and which of them may speak for others."""

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network

from router.model.addresses import parse_address

HOPS_MAX = 20
_PORT = re.compile(r"([0-9.]+):[0-9]{1,5}|\[([0-9A-Fa-f:.]+)\](?::[0-9]{1,5})?")
"""An address with its port: `192.0.2.1:4711`, `[2001:db8::1]:4711`."""

Network = IPv4Network | IPv6Network


class Peers:
    """
    The addresses that may speak for others: trusted proxies.

    Raises:
        ValueError: a CIDR is malformed.
    """

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        self._trusted: tuple[Network, ...] = tuple(ip_network(text) for text in trusted)

    def trusts(self, address: str) -> bool:
        """Whether this is one of our proxies."""
        parsed = parse_address(address)
        return parsed is not None and any(parsed in network for network in self._trusted)

    def unbounded(self, address: str) -> bool:
        """Whether many connections of this address are no attack: loopback or a trusted proxy."""
        return is_loopback(address) or self.trusts(address)

    def sender(self, peer: str, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """
        The address that sent the request: the peer, or, behind trusted proxies, the last hop of
        X-Forwarded-For (counted from the right) that is not itself one. A malformed hop ends
        the search. No other header counts, `Forwarded` neither: what a proxy does not write
        itself is the sender's own word.
        """
        if not self._trusted or not self.trusts(peer):
            return peer
        joined = b",".join(value for name, value in headers if name == b"x-forwarded-for")
        best = peer
        for hop in reversed(joined.rsplit(b",", HOPS_MAX)[-HOPS_MAX:]):
            text = hop.decode("latin-1").strip()
            if found := _PORT.fullmatch(text):  # which some proxies write
                text = found[1] or found[2]
            if parse_address(text) is None:
                break
            best = text
            if not self.trusts(text):
                break
        return best


def is_loopback(address: str) -> bool:
    """Whether the peer is on this machine's loopback."""
    parsed = parse_address(address)
    return parsed is not None and parsed.is_loopback
