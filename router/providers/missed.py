"""
Missed deliveries at a sender, as pure data: requests built, answers read, nothing sent.
"""

import re
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import msgspec

from router.legible import cut
from router.providers.management import (
    Access,
    ApiRequest,
    BadAnswerError,
    Promise,
    decoded,
    get,
    post,
)
from router.providers.recover import RecoverRule

REDELIVERED = Promise((200, 201, 202, 204), "json or nothing")
_LATEST_MS = 253_402_300_799_999
"""The end of the year 9999, the last one that can be shown."""
_NEXT = re.compile(r'<([^<>]{1,2000})>[^,<]*;\s*rel="?next\b')
_ID_MAX = 200


class Missed(msgspec.Struct, frozen=True):
    """
    One attempt of a delivery, or event, as the sender lists it. `key` is shared by the attempts
    of one delivery; `at` in Unix milliseconds. `body` is what it would have delivered, if listed.
    """

    id: str
    key: str
    at: int
    event: str
    delivered: bool
    body: bytes | None = None


class ListedPage(msgspec.Struct, frozen=True):
    """A page, newest first, and the place of the next one, None at the end."""

    items: tuple[Missed, ...]
    next: str | None


def missed_list(access: Access, hook: str, since_ms: int, place: str | None) -> ApiRequest:
    """A page of what the sender keeps."""
    rule = recover_rule(access)
    path = _filled(rule.list, hook, since=str(since_ms // 1000))
    if place is not None:
        path += f"{'&' if '?' in path else '?'}{rule.page}={quote(place, safe='')}"
    return get(access, path)


def hook_list(access: Access, hook: str) -> ApiRequest:
    """The hooks among which ours is found: `hook` ends in `{id}`."""
    return get(access, f"{hook.removesuffix('/{id}')}?per_page=100")


def redelivery(access: Access, hook: str, missed: Missed) -> ApiRequest:
    """Make the sender deliver one again."""
    path = recover_rule(access).redeliver or ""
    return post(access, _filled(path, hook, id=quote(missed.id, safe="")), None, REDELIVERED)


def recover_rule(access: Access) -> RecoverRule:
    """The rule, of a sender that has one."""
    rule = access.rule.recover
    assert rule is not None  # noqa: S101 - the caller has seen to it
    return rule


def read_page(rule: RecoverRule, body: bytes, link: str | None) -> ListedPage:
    """
    A page of the sender's list.

    Raises:
        BadAnswerError: it is something else.
    """
    raw = _raw_items(rule, body)
    items = tuple(_missed(rule, one) for one in raw)
    return ListedPage(items, _next(rule, body, items, link))


def read_hook_id(rule: RecoverRule, body: bytes, addresses: tuple[str, ...]) -> str:
    """
    The id of the only hook that delivers to one of these addresses.

    Raises:
        BadAnswerError: there is none, or there are several.
    """
    hooks = decoded(body)
    if not isinstance(hooks, list):
        raise BadAnswerError("the answer is no list of hooks")
    ours = [_at(hook, rule.id) for hook in hooks if _at(hook, rule.hook_address or "") in addresses]
    if len(ours) != 1:
        many = "none" if not ours else f"{len(ours)}"
        raise BadAnswerError(
            f"of {len(hooks)} hooks there {many} deliver to {' or '.join(addresses)[:200]}"
        )
    return _text(ours[0])


def _filled(path: str, hook: str, **values: str) -> str:
    for name, value in {"hook": hook, **values}.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def _raw_items(rule: RecoverRule, body: bytes) -> list[msgspec.Raw]:
    found = msgspec.Raw(body)
    try:
        for name in rule.items.split(".") if rule.items else ():
            found = msgspec.json.decode(found, type=dict[str, msgspec.Raw])[name]
        return msgspec.json.decode(found, type=list[msgspec.Raw])
    except (ValueError, KeyError, RecursionError):
        raise BadAnswerError("the answer is no list of what was not delivered") from None


def _missed(rule: RecoverRule, raw: msgspec.Raw) -> Missed:
    item = decoded(raw)
    identity = _text(_at(item, rule.id))
    body: bytes | None = None
    if rule.body is not None:
        body = bytes(raw) if rule.body == "@" else msgspec.json.encode(_at(item, rule.body))
    event = _at(item, rule.event) if rule.event else None
    return Missed(
        identity,
        identity if rule.key is None else _text(_at(item, rule.key)),
        _time(_at(item, rule.time), rule.time_format),
        cut(str(event), 100) if event is not None else "",
        bool(rule.delivered)
        and all(_plain(_at(item, path)) == value for path, value in rule.delivered.items()),
        body,
    )


def _next(
    rule: RecoverRule, body: bytes, items: tuple[Missed, ...], link: str | None
) -> str | None:
    if rule.place == "last_id":
        more = _at(decoded(body), rule.more or "")
        return items[-1].id if more is True and items else None
    found = _NEXT.search(link or "")
    if found is None:
        return None
    try:  # the place alone: the token goes where we say
        return parse_qs(urlsplit(found[1]).query).get(rule.page, [None])[0]
    except ValueError:
        raise BadAnswerError("the Link header holds no address") from None


def _time(value: Any, written: str) -> int:
    try:
        if written == "iso8601":
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                raise ValueError(value)
            return int(moment.timestamp() * 1000)
        found = int(value * (1000 if written == "seconds" else 1))
        if abs(found) > _LATEST_MS:
            raise ValueError(found)
        return found
    except (TypeError, ValueError, OverflowError):
        raise BadAnswerError("an item of the list has no time") from None


def _text(value: Any) -> str:
    """An id: a number or a text, never long."""
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise BadAnswerError("an item of the list has no id")
    return str(value)[:_ID_MAX]


def _plain(value: Any) -> str:
    """A value as a definition writes it."""
    return (
        msgspec.json.encode(value).decode()
        if value is None or value is True or value is False
        else str(value)
    )


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
