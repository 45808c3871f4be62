"""A payload made from its shape, for events that have no sample of their own."""

from router.model.delivery import JSON
from router.typing.lattice import FALSE, LIST, NUMBER, OBJECT, TEXT, Type

_DEPTH_MAX = 6
_TEXTS = {
    "money": "19.90",
    "joined": "one, two",
    "timestamp": "2024-01-15T10:30:00Z",
    "date": "2024-01-15",
    "url": "https://example.com/1",
    "email": "ada@example.com",
    "ip": "203.0.113.7",
    "currency_code": "EUR",
    "country_code": "DE",
    "country_name": "Germany",
    "git_ref": "refs/heads/main",
    "git_branch": "main",
    "git_tag": "v1.0",
    "git_sha": "0123456789abcdef" * 2 + "01234567",
    "repository_name": "acme/shop",
}


def payload_of(kind: Type, depth: int = 0) -> JSON:
    """A value of this type, always the same: every field that is known, lists of one element."""
    kinds = kind.kinds
    if kind.is_any:
        return None
    if kinds & OBJECT:
        known = kind.fields.items() if depth < _DEPTH_MAX else ()
        return {name: payload_of(one, depth + 1) for name, one in known}
    if kinds & LIST:
        return [] if kind.item is None else [payload_of(kind.item, depth + 1)]
    if kinds & TEXT:
        return _text(kind)
    if kinds & NUMBER:
        return 1
    return False if kinds & FALSE else None


def _text(kind: Type) -> str:
    words = sorted(map(str, kind.texts or kind.known))
    return words[0] if words else _TEXTS.get(kind.format or "", "text")
