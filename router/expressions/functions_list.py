"""Functions over lists, objects and any value."""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from operator import itemgetter
from typing import Any

from router.errors import EvaluationError
from router.expressions.absent import ABSENT, JSON
from router.expressions.compare import exact, is_number, same, type_word
from router.expressions.functions_text import plain_text

By = Callable[[JSON], JSON]


def _key(value: JSON) -> Any:
    return value if isinstance(value, str) else exact(value)


def _keyed(name: str, items: list[JSON], by: By) -> list[tuple[Any, JSON]]:
    """Each element behind its sort key; the keys are all numbers or all texts."""
    keys = [by(item) for item in items]
    if all(map(is_number, keys)):
        return [(exact(key), item) for key, item in zip(keys, items, strict=True)]
    if all(isinstance(key, str) for key in keys):
        return list(zip(keys, items, strict=True))
    found = sorted({type_word(key) for key in keys})
    raise EvaluationError(f"{name}() needs all numbers or all strings, got {', '.join(found)}")


def contains(subject: list[JSON] | str, search: JSON) -> bool:
    if isinstance(subject, str):
        return isinstance(search, str) and search in subject
    if search.__class__ is str:  # a text equals only what Python's `==` says it does
        return search in subject
    return any(same(item, search) for item in subject)


def lookup(table: dict[str, JSON] | None, key: JSON, fallback: JSON = ABSENT) -> JSON:
    return fallback if table is None or key is None else table.get(plain_text(key), fallback)


def cidr(ip: str, ranges: str | list[str]) -> bool:
    try:
        address = ip_address(ip.strip())
    except ValueError:
        raise EvaluationError(f"cidr() needs an IP address, got {ip[:60]!r}") from None
    address = getattr(address, "ipv4_mapped", None) or address
    return any(_inside(address, one) for one in ([ranges] if isinstance(ranges, str) else ranges))


def _inside(address: IPv4Address | IPv6Address, text: str) -> bool:
    try:
        network = ip_network(text.strip(), strict=False)
    except ValueError:
        raise EvaluationError(f"cidr() needs a range (10.0.0.0/8), got {text[:60]!r}") from None
    return address.version == network.version and address in network


_FIRST = itemgetter(0)
_NONE = (None, None)
LIST_FUNCTIONS: dict[str, Any] = {
    "max": lambda items: max(items, key=_key, default=None),
    "min": lambda items: min(items, key=_key, default=None),
    "sort": lambda items: sorted(items, key=_key),
    "max_by": lambda items, by: max(_keyed("max_by", items, by), key=_FIRST, default=_NONE)[1],
    "min_by": lambda items, by: min(_keyed("min_by", items, by), key=_FIRST, default=_NONE)[1],
    "sort_by": lambda items, by: [
        one for _, one in sorted(_keyed("sort_by", items, by), key=_FIRST)
    ],
    "map": lambda by, items: [by(item) for item in items],
    "contains": contains,
    "merge": lambda *objects: {name: value for item in objects for name, value in item.items()},
    "not_null": lambda *values: next((value for value in values if value is not None), None),
    "reverse": lambda subject: subject[::-1],
    "to_array": lambda value: value if isinstance(value, list) else [value],
    "keys": list,
    "values": lambda item: list(item.values()),
    "length": len,
    "type": type_word,
    "lookup": lookup,
    "cidr": cidr,
}
