import pytest

from router.web.client_address import Peers, is_loopback

PROXIES = Peers(["10.0.0.0/8", "fd00::/8"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "sender"),
    [
        ("203.0.113.1", b"1.1.1.1", "203.0.113.1"),
        ("10.0.0.1", b"1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", b"1.1.1.1, 2.2.2.2", "2.2.2.2"),
        ("10.0.0.1", b"1.1.1.1, 10.0.0.9", "1.1.1.1"),
        ("10.0.0.1", b"1.1.1.1, evil", "10.0.0.1"),
        ("10.0.0.1", b"1.1.1.1, evil, 10.0.0.9", "10.0.0.9"),
        ("10.0.0.1", b"", "10.0.0.1"),
        ("10.0.0.1", b"1.1.1.1, 2.2.2.2:4711", "2.2.2.2"),
        ("10.0.0.1", b"1.1.1.1, [2001:db8::1]:4711", "2001:db8::1"),
        ("10.0.0.1", b"1.1.1.1, [2001:db8::1]", "2001:db8::1"),
        ("10.0.0.1", b"1.1.1.1, 10.0.0.9:80", "1.1.1.1"),
        ("10.0.0.1", b"1.1.1.1, 2.2.2.2:", "10.0.0.1"),
        ("10.0.0.1", b"1.1.1.1, 2001:db8::1:80", "2001:db8::1:80"),
        ("10.0.0.1", b"10.0.0.2", "10.0.0.2"),
        ("::ffff:10.0.0.1", b"1.1.1.1", "1.1.1.1"),
        ("fd00::1", b"2001:db8::1", "2001:db8::1"),
        ("10.0.0.1", b", ".join([b"1.1.1.1", *[b"10.0.0.2"] * 100]), "10.0.0.2"),
    ],
)
def test_the_sender_is_the_last_hop_that_is_no_proxy(
    peer: str, forwarded: bytes, sender: str
) -> None:
    assert PROXIES.sender(peer, [(b"x-forwarded-for", forwarded)]) == sender


def test_several_headers_are_one_list() -> None:
    headers = [(b"x-forwarded-for", b"1.1.1.1"), (b"x-forwarded-for", b"2.2.2.2")]
    assert PROXIES.sender("10.0.0.1", headers) == "2.2.2.2"
    through = [(b"x-forwarded-for", b"1.1.1.1"), (b"x-forwarded-for", b"10.0.0.9")]
    assert PROXIES.sender("10.0.0.1", through) == "1.1.1.1"


def test_loopback_and_proxies_are_unbounded() -> None:
    known = [PROXIES.unbounded(a) for a in ("127.0.0.1", "::1", "10.1.1.1", "8.8.8.8", "")]
    assert known == [True, True, True, False, False]


@pytest.mark.parametrize("address", ["127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_loopback_in_every_spelling(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize("address", ["128.0.0.1", "localhost", "", "::2"])
def test_what_is_not_loopback(address: str) -> None:
    assert not is_loopback(address)


def test_a_malformed_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="10"):
        Peers(["10.0.0.0/99"])


def test_only_so_many_hops_are_looked_at() -> None:
    """The twentieth from the right is, the one before it is not."""
    for proxies, sender in ((19, "1.1.1.1"), (20, "10.0.0.2")):
        hops = b", ".join([b"1.1.1.1", *[b"10.0.0.2"] * proxies])
        assert PROXIES.sender("10.0.0.1", [(b"x-forwarded-for", hops)]) == sender
