"""Whatever a stranger writes into forwarding headers, it never stands where a proxy writes."""

import ipaddress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from router.egress import plain_network
from router.model.addresses import in_ranges
from router.web.client_address import Peers

PROXIES = ("10.0.0.0/8", "fd00::/8")
ALLOWED = ("192.0.2.0/24", "2001:db8:1::/48")
PEERS = Peers(PROXIES)

four = st.ip_addresses(v=4).map(str)
six = st.ip_addresses(v=6).map(str)
mapped = st.ip_addresses(v=4).map(lambda a: f"::ffff:{a}")
near = st.sampled_from(["192.0.2.7", "2001:db8:1::7", "10.0.0.3", "fd00::3", "::ffff:192.0.2.7"])
addresses = four | six | mapped | near
strangers = addresses.filter(lambda a: not PEERS.trusts(a) and not in_ranges(a, ALLOWED))
proxies = st.sampled_from(["10.0.0.1", "10.9.9.9", "fd00::1", "::ffff:10.0.0.1"])
junk = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=20)
hops = st.lists((addresses | junk).map(lambda t: t.encode("latin-1")), max_size=30)
names = st.sampled_from([b"x-forwarded-for", b"forwarded", b"x-real-ip", b"x-client-ip"])
Headers = list[tuple[bytes, bytes]]


def forged(name: bytes, hops: list[bytes]) -> tuple[bytes, bytes]:
    return name, b", ".join(hops)


forgeries = st.lists(st.builds(forged, names, hops), max_size=4)


@given(strangers, forgeries)
def test_a_stranger_that_comes_straight_is_itself(peer: str, headers: Headers) -> None:
    assert PEERS.sender(peer, headers) == peer
    assert not in_ranges(PEERS.sender(peer, headers), ALLOWED)


@given(strangers, st.lists(proxies, min_size=1, max_size=5), forgeries)
def test_behind_our_proxies_a_stranger_is_what_the_first_of_them_saw(
    stranger: str, chain: list[str], headers: Headers
) -> None:
    """Each proxy appends whom it saw; what the stranger wrote stands left of that."""
    seen = [stranger, *chain[:-1]]
    headers = [*headers, (b"x-forwarded-for", ", ".join(seen).encode())]
    assert PEERS.sender(chain[-1], headers) == stranger
    assert not in_ranges(PEERS.sender(chain[-1], headers), ALLOWED)


@given(strangers, proxies, forgeries)
def test_a_proxy_that_puts_its_word_into_the_same_line(
    stranger: str, proxy: str, headers: Headers
) -> None:
    own = [value for name, value in headers if name == b"x-forwarded-for"]
    joined = b", ".join([*own, stranger.encode()])
    assert PEERS.sender(proxy, [(b"x-forwarded-for", joined)]) == stranger


@given(forgeries, addresses)
def test_without_trusted_proxies_no_header_counts(headers: Headers, peer: str) -> None:
    assert Peers(()).sender(peer, headers) == peer


@given(st.ip_addresses(v=4), st.integers(8, 32))
def test_every_writing_of_an_address_is_in_the_same_ranges(address: Any, prefix: int) -> None:
    network = ipaddress.ip_network((address, prefix), strict=False)
    inside = ipaddress.IPv6Network((f"::ffff:{network.network_address}", 96 + prefix))
    assert plain_network(inside) == network
    for text in (str(address), f"::ffff:{address}"):
        assert in_ranges(text, (str(network),))
    outside = ipaddress.ip_address(int(address) ^ (1 << 31))
    assert not in_ranges(str(outside), (str(network),))
