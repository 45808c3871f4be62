"""The address table, literal by literal."""

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
import yaml

from router.egress import (
    EgressPolicy,
    _carried,
    host_and_port,
    is_local_name,
    is_metadata_name,
    is_private_name,
    listens_locally,
    literal_address,
    plain_network,
)
from router.errors import EgressRefused


def _words(text: str) -> list[str]:
    return text.split()


PUBLIC = _words("""
1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.1 172.15.255.255 172.32.0.1 192.167.255.255
192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.255 11.0.0.1 126.255.255.255 128.0.0.1
2606:4700:4700::1111 2001:4860:4860::8888 2a00:1450:4001::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8
2002:808:808::1
""")

PRIVATE = _words("""
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254
169.254.0.1 169.254.255.255 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.0.1
192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255
240.0.0.1 255.255.255.255
:: ::1 ::2 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:192.168.1.1 ::ffff:0:127.0.0.1
::ffff:0:8.8.8.8 64:ff9b::10.0.0.1 64:ff9b::7f00:1 64:ff9b:1::a00:1 64:ff9b:1::808:808
100::1 2001::1 2001:0:7f00:1::f5ff:fffe 2001:0:808:808::f5ff:fffe 2001:10::1 2001:20::1
2001:db8::1 2002:a00:1::1 2002:7f00:1::1 3ffe::1 3fff::1 5f00::1 fc00::1 fd12:3456::1 fe80::1
fe80::1%eth0 fec0::1 ff02::1 ff0e::1 2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:10.0.0.1
""")

METADATA = _words("""
169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192
fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fe80::a9fe:a9fe ::ffff:169.254.169.254
64:ff9b::169.254.169.254 64:ff9b:1:a9fe:a9:fe00:: 2002:a9fe:a9fe::1 ::169.254.169.254
2606:4700::5efe:169.254.169.254
""")

NOT_PLAIN = _words("""
127.1 0x7f.1 0x7f000001 2130706433 0177.0.0.1 127.0.0.01 ①②⑦.⓪.⓪.① 127.0.0.1.nip.io localhost
\N{FULLWIDTH DIGIT ONE}27.0.0.1 1.1.1 256.1.1.1
""")

EVERYTHING = EgressPolicy(["0.0.0.0/0", "::/0"])


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_may_be_called(address: str) -> None:
    EgressPolicy().check(address)


@pytest.mark.parametrize("address", PRIVATE)
def test_names_may_not_lead_to_private_addresses(address: str) -> None:
    with pytest.raises(EgressRefused):
        EgressPolicy().check(address)


@pytest.mark.parametrize("address", PRIVATE)
def test_an_operator_may_write_a_private_address(address: str) -> None:
    EgressPolicy().check(address, literal=True)


@pytest.mark.parametrize("policy", [EgressPolicy(), EVERYTHING], ids=["none", "all"])
@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("address", METADATA)
def test_metadata_is_never_called(address: str, literal: bool, policy: EgressPolicy) -> None:
    with pytest.raises(EgressRefused):
        policy.check(address, literal=literal)


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_odd_spellings_are_no_literals_and_no_addresses(text: str) -> None:
    assert literal_address(text) is None
    with pytest.raises(EgressRefused):
        EVERYTHING.check(text, literal=True)


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("10.20.1.1", True),
        ("::ffff:10.20.1.1", True),
        ("64:ff9b::10.20.1.1", True),
        ("10.21.0.1", False),
        ("fd00::5", True),
        ("fd01::5", False),
    ],
)
def test_allowed_ranges_hold_for_what_an_address_carries(address: str, allowed: bool) -> None:
    policy = EgressPolicy(["10.20.0.0/16", "fd00::/64"])
    if allowed:
        policy.check(address)
    else:
        with pytest.raises(EgressRefused):
            policy.check(address)


def test_the_table_is_long_enough() -> None:
    assert len(PUBLIC) + len(PRIVATE) + len(METADATA) + len(NOT_PLAIN) >= 60


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "localhost.", "api.localhost"])
def test_local_names(host: str) -> None:
    assert is_local_name(host)


@pytest.mark.parametrize("host", ["localhost.example.com", "notlocalhost", "127.0.0.1", ""])
def test_other_names_are_not_local(host: str) -> None:
    assert not is_local_name(host)


@pytest.mark.parametrize("written", ["127.0.0.1%lo", "[127.0.0.1]", "127.0.0.1"])
def test_a_zone_and_brackets_are_no_part_of_an_address(written: str) -> None:
    assert str(literal_address(written)) == "127.0.0.1"


@pytest.mark.parametrize("written", ["n127.0.0.1", "127.0.0.1 ", "o::1", "%lo", "[]"])
def test_nothing_else_is_taken_off(written: str) -> None:
    assert literal_address(written) is None


def test_a_metadata_address_with_a_zone_is_one() -> None:
    for policy in (EgressPolicy(), EVERYTHING):
        with pytest.raises(EgressRefused, match="a metadata service of a cloud, which is never"):
            policy.check("fe80::a9fe:a9fe%eth0", literal=True)


@pytest.mark.parametrize(
    ("host", "address", "words", "lasting"),
    [
        ("vm", "127.0.0.1", "vm is 127.0.0.1, a private address. {127.0.0.0/8}", False),
        ("vm", "172.20.0.3", "vm is 172.20.0.3, a private address. {172.16.0.0/12}", False),
        ("vm", "fd12::1", 'vm is fd12::1, a private address. {"fc00::/7"}', False),
        ("vm", "::1", 'vm is ::1, a private address. {"::1"}', False),
        (
            "vm",
            "::ffff:10.0.0.1",
            "vm is ::ffff:10.0.0.1, a private address. {10.0.0.0/8}",
            False,
        ),
        ("", "10.0.0.1", "10.0.0.1 is a private address. {10.0.0.0/8}", True),
        ("10.0.0.1", "10.0.0.1", "10.0.0.1 is a private address. {10.0.0.0/8}", True),
        ("vm", "127.1", "vm is 127.1, not a plain address", False),
        (
            "vm",
            "169.254.169.254",
            "vm is 169.254.169.254, a metadata service of a cloud, which is never called",
            False,
        ),
    ],
)
def test_a_refusal_names_host_address_and_the_range_to_allow(
    host: str, address: str, words: str, lasting: bool
) -> None:
    with pytest.raises(EgressRefused) as caught:
        EgressPolicy().check(address, host)
    sentence, _, range_ = words.partition("{")
    key = f"Allow it with `server.egress.allow: [{range_.rstrip('}')}]`." if range_ else ""
    assert (str(caught.value), caught.value.lasting) == (sentence + key, lasting)
    if range_:
        allow = yaml.safe_load(key.split("`")[1])["server.egress.allow"]
        EgressPolicy(allow).check(address, host)


@pytest.mark.parametrize("host", ["vm", "ERP.local", "db.", "a.internal", "erp.shop.svc", "x.lan."])
def test_private_names(host: str) -> None:
    assert is_private_name(host)


@pytest.mark.parametrize("host", ["erp.example", "localhost", "10.0.0.1", "::1", "local.example"])
def test_other_names_are_not_private(host: str) -> None:
    assert not is_private_name(host)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        ("::ffff:1.2.3.4/128", "1.2.3.4/32"),
        ("::/0", "::/0"),
        ("2001:db8::/32", "2001:db8::/32"),
    ],
)
def test_a_mapped_range_is_an_ipv4_range(written: str, plain: str) -> None:
    assert str(plain_network(ip_network(written))) == plain


@pytest.mark.parametrize("host", ["metadata.google.internal", "METADATA.goog.", "instance-data"])
def test_names_of_metadata_services(host: str) -> None:
    assert is_metadata_name(host)
    assert not is_metadata_name(f"x{host}")


@pytest.mark.parametrize("address", ["0.0.0.1", "10.1.2.3", "255.255.255.255", "169.254.169.254"])
def test_an_ipv4_address_carries_nothing_but_itself(address: str) -> None:
    assert list(_carried(IPv4Address(address))) == []


@pytest.mark.parametrize(
    ("address", "carried"),
    [
        ("::ffff:1.2.3.4", ["1.2.3.4"]),
        ("::ffff:0:1.2.3.4", ["1.2.3.4"]),
        ("::1.2.3.4", ["1.2.3.4"]),
        ("64:ff9b::1.2.3.4", ["1.2.3.4"]),
        ("64:ff9b:1:102:3:400:0:9", ["0.0.0.9", "1.2.3.4"]),
        ("2002:102:304::9", ["1.2.3.4"]),
        ("2001:0:102:304::fafb:fcfd", ["1.2.3.4", "5.4.3.2"]),
        ("2a00:1450::5efe:1.2.3.4", ["1.2.3.4"]),
        ("2a00:1450::200:5efe:1.2.3.4", ["1.2.3.4"]),
        ("2a00:1450::1.2.3.4", []),
        ("2a00:1450::5eff:1.2.3.4", []),
        ("2a00:1450::5efc:1.2.3.4", []),
        ("2a00:1450::1:5efe:1.2.3.4", []),
        ("2a00:1450::201:5efe:1.2.3.4", []),
    ],
)
def test_what_each_carrier_carries(address: str, carried: list[str]) -> None:
    assert [str(face) for face in _carried(IPv6Address(address))] == carried


@pytest.mark.parametrize("bit", range(32))
def test_every_bit_of_what_is_carried_counts(bit: int) -> None:
    """One bit alone, and all but that one, in each carrier."""
    for bits in (1 << bit, 0xFFFFFFFF ^ 1 << bit, 0xFFFFFFFF):
        face, high, low = IPv4Address(bits), bits >> 16, bits & 0xFFFF
        for carrier, beside in (
            (0xFFFF << 32 | bits, []),
            (0xFFFF << 48 | bits, []),
            (bits, []),
            (0x64FF9B << 96 | bits, []),
            (0x64FF9B0001 << 80 | high << 64 | low << 40, [low << 40 & 0xFFFFFFFF]),
            (0x2002 << 112 | bits << 80, []),
            (0x2001 << 112 | bits << 64, [0xFFFFFFFF]),
            (0x2001 << 112 | bits ^ 0xFFFFFFFF, [0]),
            (0x2A00 << 112 | 0x5EFE << 32 | bits, []),
            (0x2A00 << 112 | 0x02005EFE << 32 | bits, []),
        ):
            found = set(_carried(IPv6Address(carrier)))
            assert found == {face, *map(IPv4Address, beside)}, IPv6Address(carrier)


@pytest.mark.parametrize("bit", range(32))
def test_every_bit_of_a_mapped_range_counts(bit: int) -> None:
    address = IPv4Address(1 << bit)
    assert plain_network(ip_network(f"::ffff:{address}/128")) == ip_network(f"{address}/32")


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("h:80", ("h", 80)),
        ("[::1]:80", ("::1", 80)),
        ("192.0.2.1:65535", ("192.0.2.1", 65_535)),
        *((bad, None) for bad in ("8000", "h:", ":80", "h:x", "h:70000", "h:-1", "h:٣", "[]:80")),
        ("h:" + "9" * 5_000, None),
    ],
)
def test_a_place_to_listen_at_is_a_host_and_a_port(
    address: str, parts: tuple[str, int] | None
) -> None:
    assert host_and_port(address) == parts


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1", "[::1]:1", "LocalHost:1", "127.9.9.9:1", "[::ffff:127.0.0.1]:1"]
)
def test_who_listens_on_a_loopback_address_is_local(address: str) -> None:
    assert listens_locally(address)


@pytest.mark.parametrize("address", ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "h:1", "2130706433:1"])
def test_who_listens_elsewhere_is_not_local(address: str) -> None:
    assert not listens_locally(address)
