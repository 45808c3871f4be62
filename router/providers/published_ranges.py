"""Address ranges that senders publish: how they are asked for, and what is believed."""

from ipaddress import ip_network
from typing import Any

import msgspec

from router.egress import plain_network
from router.legible import cut
from router.providers.management import (
    Access,
    ApiRequest,
    BadAnswerError,
    Promise,
    decoded,
    ranges,
)
from router.providers.ranges_rule import RangesRule

RANGES_MAX = 1000
_WIDEST = {4: 8, 6: 16}
"""Shorter prefixes than these would let half the world in: no sender has so many addresses."""
_LIST = Promise((200,), "anything")


class RangesSource(msgspec.Struct, frozen=True):
    """Where ranges are published, how they are asked for, and where the answer has them."""

    base: str
    token: str | None
    request: ApiRequest
    rule: RangesRule

    @classmethod
    def of_api(cls, access: Access) -> "RangesSource":
        """Those of a sender's API."""
        rule = RangesRule(access.base, access.rule.ranges_field)
        return cls(access.base, access.token, ranges(access), rule)

    @classmethod
    def of_url(cls, rule: RangesRule) -> "RangesSource":
        """Those at an address of their own."""
        asked = ApiRequest("GET", rule.url, (("Accept", "application/json"),), _LIST)
        return cls(rule.url, None, asked, rule)


def read_ranges(body: bytes, rule: RangesRule) -> tuple[str, ...]:
    """
    The published address ranges.

    Raises:
        BadAnswerError: there are none, too many, or one of them is malformed or far too wide: a
            list read in part would refuse genuine deliveries or let strangers in.
    """
    found = rule.listed(decoded(body))
    if not isinstance(found, list) or not found:
        raise BadAnswerError(f"the answer has no list {rule.path!r} of address ranges")
    if len(found) > RANGES_MAX:
        raise BadAnswerError(f"{len(found)} address ranges are more than {RANGES_MAX}")
    return tuple(dict.fromkeys(_range(text) for text in found))


def _range(text: Any) -> str:
    try:
        network = plain_network(ip_network(text)) if isinstance(text, str) else None
    except ValueError:
        network = None
    if network is None:
        raise BadAnswerError(f"{cut(str(text), 60)!r} is not a range of addresses")
    if network.prefixlen < _WIDEST[network.version]:
        raise BadAnswerError(f"the range {network} is too wide to be believed")
    return str(network)
