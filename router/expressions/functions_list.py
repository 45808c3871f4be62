"""Functions over lists, objects and any value."""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from router.errors import EvaluationError
from router.expressions.absent import ABSENT, JSON
from router.expressions.compare import exact, is_number, same, type_word
from router.expressions.functions_text import plain_text

By = Callable[[JSON], JSON]


def _key(value: JSON) -> Any:
    return value if isinstance(value, str) else exact(value)


def largest(items: list[JSON]) -> JSON:
    return max(items, key=_key) if items else None


def smallest(items: list[JSON]) -> JSON:
    return min(items, key=_key) if items else None


def sort(items: list[JSON]) -> JSON:
    return sorted(items, key=_key)


def _keys(name: str, items: list[JSON], by: By) -> list[Any]:
    """The sort key of each element; all numbers or all texts."""
    keys = [by(item) for item in items]
    if all(map(is_number, keys)):
        return [exact(key) for key in keys]
    if all(isinstance(key, str) for key in keys):
        return keys
    found = sorted({type_word(key) for key in keys})
    raise EvaluationError(f"{name}() needs all numbers or all strings, got {', '.join(found)}")


def sort_by(items: list[JSON], by: By) -> list[JSON]:
    keys = _keys("sort_by", items, by)
    return [items[at] for at in sorted(range(len(items)), key=keys.__getitem__)]


def max_by(items: list[JSON], by: By) -> JSON:
    keys = _keys("max_by", items, by)
    return items[max(range(len(items)), key=keys.__getitem__)] if items else None


def min_by(items: list[JSON], by: By) -> JSON:
    keys = _keys("min_by", items, by)
    return items[min(range(len(items)), key=keys.__getitem__)] if items else None


def map_list(by: By, items: list[JSON]) -> list[JSON]:
    return [by(item) for item in items]


def contains(subject: list[JSON] | str, search: JSON) -> bool:
    if isinstance(subject, str):
        return isinstance(search, str) and search in subject
    return any(same(item, search) for item in subject)


def merge(*objects: dict[str, JSON]) -> dict[str, JSON]:
    merged: dict[str, JSON] = {}
    for item in objects:
        merged.update(item)
    return merged


def not_null(*values: JSON) -> JSON:
    return next((value for value in values if value is not None), None)


def reverse(subject: list[JSON] | str) -> JSON:
    return subject[::-1]


def to_array(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else [value]


def keys_of(item: dict[str, JSON]) -> list[str]:
    return list(item)


def values_of(item: dict[str, JSON]) -> list[JSON]:
    return list(item.values())


def lookup(table: dict[str, JSON] | None, key: JSON, fallback: JSON = ABSENT) -> JSON:
    if table is None or key is None:
        return fallback
    return table.get(plain_text(key), fallback)


def cidr(ip: str, ranges: str | list[str]) -> bool:
    try:
        address = _unmapped(ip_address(ip.strip()))
    except ValueError:
        raise EvaluationError(f"cidr() cannot read {ip[:60]!r} as an address") from None
    return any(_inside(address, one) for one in ([ranges] if isinstance(ranges, str) else ranges))


def _unmapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    return getattr(address, "ipv4_mapped", None) or address


def _inside(address: IPv4Address | IPv6Address, text: str) -> bool:
    try:
        network = ip_network(text.strip(), strict=False)
    except ValueError:
        raise EvaluationError(f"cidr() cannot read {text[:60]!r} as a range") from None
    return address.version == network.version and address in network


LIST_FUNCTIONS: dict[str, Any] = {
    "max": largest,
    "min": smallest,
    "sort": sort,
    "sort_by": sort_by,
    "max_by": max_by,
    "min_by": min_by,
    "map": map_list,
    "contains": contains,
    "merge": merge,
    "not_null": not_null,
    "reverse": reverse,
    "to_array": to_array,
    "keys": keys_of,
    "values": values_of,
    "length": len,
    "type": type_word,
    "lookup": lookup,
    "cidr": cidr,
}
