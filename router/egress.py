"""
Which addresses an action may call: an own table, tested literal by literal.

The standard library's `is_global` calls several tunnels into private networks public, so it
decides nothing here. An address that carries an IPv4 address inside (mapped, NAT64, 6to4, Teredo,
ISATAP) is judged by what it carries.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from router.errors import EgressRefused

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_METADATA = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # nearly every cloud
        "169.254.170.2",  # containers' credentials
        "169.254.170.23",
        "169.254.0.23",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "fe80::a9fe:a9fe",
        "169.254.42.42",
        "fd00:42::42",
        "fd00:a9fe:a9fe::1",
    )
)

_METADATA_NAMES = frozenset(
    {
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "metadata.platformequinix.com",
        "metadata.packet.net",
        "instance-data",
        "instance-data.ec2.internal",
    }
)
"""They lead to metadata services from inside their clouds, whatever they resolve to elsewhere."""

_PRIVATE_NAMES = (".local", ".internal", ".lan", ".svc", ".home.arpa")

_NOT_PUBLIC_4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "168.63.129.16/32",
    )
)

_PUBLIC_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(text)
    for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3ffe::/16", "3fff::/20")
)
_UNIQUE_LOCAL = IPv6Network("fc00::/7")

_MAPPED = IPv6Network("::ffff:0:0/96")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_COMPATIBLE = IPv6Network("::/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = IPv6Network("64:ff9b:1::/48")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_TEREDO = IPv6Network("2001::/32")
_ISATAP = (0x00005EFE, 0x02005EFE)
_CARRIES_ONLY = (_MAPPED, _NAT64, _SIX_TO_FOUR, _TEREDO)
"""Where the carried addresses alone decide; every other carrier is not public itself."""


class EgressPolicy:
    """
    Public addresses may be called; private ones only when `allow` (CIDRs, now) holds them.

    A literal address that the operator wrote may be called wherever it points. Metadata
    addresses may never be called, however written or wrapped.
    """

    def __init__(self, allow: Iterable[str] | Callable[[], tuple[str, ...]] = ()) -> None:
        texts = () if callable(allow) else tuple(allow)
        self._allow = allow if callable(allow) else lambda: texts

    def check(self, address: str, host: str = "", *, literal: bool = False) -> None:
        """
        Pass if a connection to `address` is allowed. `host` is the name that leads there, if it is
        not the address itself.

        Raises:
            EgressRefused: it is not, or the text is no plain address (`127.1`).
        """
        if (found := literal_address(address)) is None:
            raise _refused(host, address, "not a plain address")
        faces = (found, *_carried(found))
        if any(face in _METADATA for face in faces):
            raise _refused(host, address, _NEVER)
        if literal or _is_public(found) or any(self._allowed(face) for face in faces):
            return
        face = getattr(found, "ipv4_mapped", None) or found
        key = f"Allow it with `server.egress.allow: [{_range_of(face)}]`."
        raise _refused(host, address, f"a private address. {key}")

    def _allowed(self, face: Address) -> bool:
        networks = _networks(self._allow())
        return any(face in network for network in networks if network.version == face.version)


@lru_cache(maxsize=8)
def _networks(texts: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(map(ip_network, texts))


_NEVER = "a metadata service of a cloud, which is never called"


def _refused(host: str, address: str, what: str) -> EgressRefused:
    if host in ("", address) or literal_address(host) is not None:
        return EgressRefused(address, f"is {what}", lasting=True)
    return EgressRefused(host, f"is {address}, {what}", lasting=False)


def _range_of(address: Address) -> str:
    """The range, as YAML writes it, that such a private address is usually part of."""
    if isinstance(address, IPv4Address):
        return str(next((one for one in _NOT_PUBLIC_4 if address in one), address))
    return f'"{_UNIQUE_LOCAL if address in _UNIQUE_LOCAL else address}"'


def check_name(host: str) -> None:
    """
    Pass if a host may be looked up.

    Raises:
        EgressRefused: it is the name of a cloud's metadata service.
    """
    if is_metadata_name(host):
        raise EgressRefused(host, f"is {_NEVER}", lasting=True)


def literal_address(host: str) -> Address | None:
    """
    The address a host is the plain spelling of, else None.

    Short, decimal, octal and hexadecimal forms are names: a resolver may read them as addresses,
    nobody wrote one down.
    """
    try:
        return ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def plain_network(network: Network) -> Network:
    """A range of v4-mapped addresses as the IPv4 range it is: peers are compared so."""
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        address = IPv4Address(int(network.network_address) & 0xFFFFFFFF)
        return IPv4Network((address, network.prefixlen - _MAPPED.prefixlen))
    return network


def host_and_port(address: str) -> tuple[str, int] | None:
    """Host, without brackets, and port of `HOST:PORT`; None of anything else."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    numbered = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65_535
    return (host, int(port)) if host and numbered else None


def listens_locally(address: str) -> bool:
    """Whether only this machine can reach who listens at `HOST:PORT`."""
    host = address.rpartition(":")[0].lower()
    found = literal_address(host)
    found = getattr(found, "ipv4_mapped", None) or found
    return host == "localhost" or (found is not None and found.is_loopback)


def is_local_name(host: str) -> bool:
    """Whether a host is `localhost` or below it: loopback as written."""
    lowered = host.lower().rstrip(".")
    return lowered == "localhost" or lowered.endswith(".localhost")


def is_private_name(host: str) -> bool:
    """Whether only one's own network knows a host, by the spelling of its name."""
    name = host.lower().rstrip(".")
    inner = "." not in name or name.endswith(_PRIVATE_NAMES)
    return inner and literal_address(host) is None and not is_local_name(host)


def is_written(address: str, host: str, written: Container[str]) -> bool:
    """Whether the operator wrote this very address down, or `localhost` for a loopback one."""
    found = literal_address(address)
    if found is None or host.lower() not in written:
        return False
    return found == literal_address(host) or (is_local_name(host) and found.is_loopback)


def is_metadata(host: str) -> bool:
    """Whether a host, as it is written, may never be called."""
    found = literal_address(host)
    faces = () if found is None else (found, *_carried(found))
    return is_metadata_name(host) or any(face in _METADATA for face in faces)


def is_metadata_name(host: str) -> bool:
    """Whether a host is the name of a cloud's metadata service: never to be called."""
    return host.lower().rstrip(".") in _METADATA_NAMES


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    carried = tuple(_carried(address))
    if not all(_is_public(face) for face in carried):
        return False
    if carried and any(address in network for network in _CARRIES_ONLY):
        return True
    return address in _PUBLIC_6 and not any(address in network for network in _NOT_PUBLIC_6)


def _carried(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses an IPv6 address carries."""
    if isinstance(address, IPv4Address):
        return
    bits = int(address)
    low = IPv4Address(bits & 0xFFFFFFFF)
    if any(address in n for n in (_MAPPED, _TRANSLATED, _COMPATIBLE, _NAT64, _NAT64_LOCAL)):
        yield low
    if address in _NAT64_LOCAL:
        # the /48 form keeps the address around an always-zero byte
        yield IPv4Address(((bits >> 64 & 0xFFFF) << 16) | (bits >> 40 & 0xFFFF))
    if address in _SIX_TO_FOUR:
        yield IPv4Address(bits >> 80 & 0xFFFFFFFF)
    if address in _TEREDO:
        yield IPv4Address(bits >> 64 & 0xFFFFFFFF)
        yield IPv4Address(~bits & 0xFFFFFFFF)
    if bits >> 32 & 0xFFFFFFFF in _ISATAP:
        yield low
