"""The `ranges:` of a definition: where a sender publishes the addresses that it sends from."""

from collections.abc import Iterator
from typing import Any

import msgspec

from router.model.delivery import JSON


class RangesRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    JSON at an https address, outside any API. `path` is the dotted path of the list, and on into
    each of its items; "" is the whole. `where`: of items, only those whose members have these
    values, or hold them.
    """

    url: str
    path: str = ""
    where: dict[str, str] = {}

    def listed(self, published: JSON) -> JSON:
        """What is at the path; a list's items each."""
        for step in self.path.split(".") if self.path else ():
            if isinstance(published, list):
                published = [_member(one, step) for one in published if self._wants(one)]
            else:
                published = _member(published, step)
        return published

    def _wants(self, item: JSON) -> bool:
        return all(_has(_member(item, name), value) for name, value in self.where.items())


def problems(rule: RangesRule | None, *, by_api: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with it: (its key, the words). `by_api`: `api` says where they are, too."""
    if rule is None:
        return
    if not rule.url.startswith("https://") or not rule.url.isascii() or not rule.url.isprintable():
        yield "url", "`ranges.url` is an https address"
    if by_api:
        yield "url", "`ranges` and `api.ranges` both say where addresses are published: keep one"
    if rule.where and "." not in rule.path:
        yield (
            "where",
            "`ranges.where` chooses items: `path` leads into them, like `items.cidr`",
        )


def _member(value: JSON, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _has(found: JSON, value: str) -> bool:
    return value in found if isinstance(found, list) else found == value
