"""What must hold between the keys of one way of proof; every fault is named with its key."""

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from router.providers import validation_elsewhere as elsewhere
from router.providers.definition import (
    PLACEHOLDER,
    SEGMENT,
    SIGNATURES,
    BodyHash,
    Definition,
    Names,
    ProofPlace,
    VerifyRule,
    duration_s,
    spelled,
)
from router.providers.messages import COVERING, pieces, words_of

_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_PARAMETER = re.compile(r"[A-Za-z0-9_.~-]{1,100}")
_PATH = re.compile(r"[^\s{}\[\]]{1,200}")

_ONLY: dict[str, tuple[str, ...]] = {
    "query": (*SIGNATURES, "token"),
    "field": (*SIGNATURES, "token"),
    "each": (*SIGNATURES, "token"),
    "algorithm": ("hmac", "ecdsa", "rsa"),
    "encoding": SIGNATURES,
    "prefix": (*SIGNATURES, "token"),
    "separator": SIGNATURES,
    "message": SIGNATURES,
    "timestamp": SIGNATURES,
    "timestamp_part": SIGNATURES,
    "time": SIGNATURES,
    "tolerance": (*SIGNATURES, "jwt", "introspection"),
    "key": SIGNATURES,
    "padding": ("rsa",),
    "equals": ("rsa",),
    "partial": SIGNATURES,
    "user": ("basic",),
    "audience": ("jwt", "introspection"),
    "issuer": ("jwt", "introspection"),
    "algorithms": ("jwt",),
    **elsewhere.ONLY,
}
"""Which schemes a key of `verify` belongs to."""
_BLANK = VerifyRule(scheme="none")

Faults = Iterator[tuple[str, str]]
_Where = TypeVar("_Where")


def wrong(*rows: tuple[object, _Where, str]) -> Iterator[tuple[_Where, str]]:
    """Where and what of each row (is it wrong, where, what to say) that is wrong."""
    return ((where, text) for fault, where, text in rows if fault)


def no_headers(names: Names) -> Iterator[str]:
    """What is wrong with the names of a header."""
    return (f"{n!r} is not a header name" for n in spelled(names) if not _HEADER.fullmatch(n))


def unreadable(text: str, read: Callable[[str], float]) -> list[str]:
    """Why a measure cannot be read, if so."""
    try:
        read(text)
    except ValueError as e:
        return [str(e)]
    return []


def rule_problems(rule: VerifyRule, d: Definition) -> Faults:
    """What is wrong with one way of proof: (its key, the words)."""
    for key, schemes in _ONLY.items():
        if getattr(rule, key) != getattr(_BLANK, key) and rule.scheme not in schemes:
            yield key, f"`verify.{key}` does not go with the scheme {rule.scheme}"
    plain = ("prefix", "message", "timestamp_part")
    yield from (
        (k, f"`verify.{k}` is plain ASCII") for k in plain if not getattr(rule, k).isascii()
    )
    yield from _places(rule)
    if rule.scheme in SIGNATURES:
        yield from _signature(rule)
        yield from _message(rule, d)
        yield from _coverage(rule)
        yield from _time(rule)
    yield from elsewhere.problems(rule)
    user = rule.user
    yield from wrong(
        (
            user is not None and (":" in user or not user),
            "user",
            "a user is not empty and holds no ':'",
        ),
    )
    if rule.tolerance is not None:
        yield from (("tolerance", text) for text in unreadable(rule.tolerance, duration_s))


def _places(rule: VerifyRule) -> Faults:
    names_header = "`verify.header` names the signature's header"
    places = [key for key in ("header", "query", "field") if getattr(rule, key) not in ((), None)]
    yield from wrong(
        (rule.scheme in SIGNATURES and not places, "header", names_header),
        (rule.scheme == "none" and rule.header, "header", f"{names_header}; none has none"),
        (
            rule.scheme == "basic" and rule.header,
            "header",
            f"{names_header}; basic is in Authorization",
        ),
        (
            len(places) > 1,
            places[-1] if places else "",
            f"the proof is in one of `header`, `query` and `field`, not in {' and '.join(places)}",
        ),
        (
            rule.each is not None and rule.field is None,
            "each",
            "`verify.each` needs `field`: where the proof of each item stands in it",
        ),
    )
    yield from _well_named("header", ProofPlace(rule.header, rule.query, rule.field))
    yield from _well_named("timestamp", rule.stamp)
    hashed = rule.body_hash
    yield from _well_named("body_hash", hashed.place if hashed else ProofPlace())
    paths = (("equals", rule.equals), ("each", rule.each))
    yield from ((key, _no_path(path)) for key, path in paths if path is not None and _no_path(path))


def _well_named(key: str, place: ProofPlace) -> Faults:
    """Are header, query parameter and field such names at all?"""
    several = [value for value in (place.header or None, place.query, place.field) if value]
    own = key == "header"
    yield from ((key, text) for text in no_headers(place.header))
    yield from wrong(
        (
            len(several) > 1 and not own,
            key,
            f"`verify.{key}` is in one place: header, query or field",
        ),
        (
            place.query is not None and not _PARAMETER.fullmatch(place.query),
            "query" if own else key,
            f"{place.query!r} is not the name of a query parameter",
        ),
        (
            place.field is not None and _no_path(place.field),
            "field" if own else key,
            _no_path(place.field or ""),
        ),
    )


def _no_path(path: str) -> str:
    return "" if _PATH.fullmatch(path) else f"{path!r} is not a dotted path, like data.id"


def _signature(rule: VerifyRule) -> Faults:
    listed, part = bool(rule.separator), rule.timestamp_part
    return wrong(
        (
            rule.scheme == "ecdsa" and rule.algorithm == "sha1",
            "algorithm",
            "an ecdsa signature is over sha256, sha384 or sha512",
        ),
        (
            # `v1,` in a list that spaces part is fine; a prefix that is cut apart never fits.
            listed and rule.separator in rule.prefix + part,
            "separator",
            "`verify.separator` cannot stand within `prefix` or `timestamp_part`",
        ),
        (
            part and not listed,
            "timestamp_part",
            "`verify.timestamp_part` needs `separator`: it is one of a list",
        ),
        (
            part and (rule.timestamp or part == rule.prefix),
            "timestamp_part",
            "the timestamp has one place of its own: a header or a part",
        ),
        (
            listed and not rule.prefix,
            "separator",
            "with `separator`, `prefix` tells signatures from other entries",
        ),
    )


_KNOWN = (
    "{body} {timestamp} {id} {header:NAME} {method} {url} {path} {query} {query:NAME}"
    " {form_sorted} {body_sha256} {body_crc32} {json:PATH}"
)


def _message(rule: VerifyRule, d: Definition) -> Faults:
    message, words = rule.message, words_of(rule.message)
    literal = PLACEHOLDER.sub("", SEGMENT.sub(r"\1", message))
    inside = [pieces_ for optional, pieces_ in pieces(message) if optional]
    return wrong(
        (
            "{" in literal or "}" in literal,
            "message",
            f"`verify.message` knows {_KNOWN}",
        ),
        (
            "[" in literal or "]" in literal,
            "message",
            "`[...]` in `verify.message` is a piece that may be left out; none is within another",
        ),
        (
            any(not any(map(PLACEHOLDER.fullmatch, piece)) for piece in inside),
            "message",
            "`[...]` in `verify.message` names nothing that may be absent",
        ),
        (
            any("{timestamp}" in piece for piece in inside),
            "message",
            "{timestamp} in `verify.message` is never left out",
        ),
        (message.count("{body}") > 1, "message", "`verify.message` holds {body} once"),
        (
            "{id}" in message and not (d.id and d.id.header),
            "message",
            "{id} in `verify.message` needs an `id` header",
        ),
        (
            "secret" in words and rule.certificate is None,
            "message",
            "{secret} in `verify.message` goes with `certificate`: else the secret is the key",
        ),
        (
            rule.query is not None and {"url", "query"} & set(words),
            "message",
            "{url} and {query} cannot hold the signature itself: it is in the query",
        ),
    )


_UNCOVERED = (
    "`verify.message` holds {body} once, or {body_sha256}, {form_sorted} or `body_hash`;"
    " a sender that signs less is `partial: true`"
)


def _coverage(rule: VerifyRule) -> Faults:
    """Without the body in it a signature proves nothing about what we act on."""
    covers = covers_body(rule)
    words, place = set(words_of(rule.message)), rule.body_hash or BodyHash()
    signed = (
        {"url", "query", f"query:{place.query}"}
        if place.query is not None
        else {f"header:{name}" for name in spelled(place.header)}
    )
    return wrong(
        (
            not covers and not rule.partial,
            "message",
            _UNCOVERED,
        ),
        (
            covers and rule.partial,
            "partial",
            "`verify.partial` is for a message that does not cover the body; this one does",
        ),
        (
            covers and rule.field is not None,
            "field",
            "a signature cannot stand in the body that it covers",
        ),
        (
            rule.body_hash is not None and not signed & words,
            "body_hash",
            "`verify.body_hash` must be signed: {url}, {query:NAME} or {header:NAME} in `message`",
        ),
    )


def covers_body(rule: VerifyRule) -> bool:
    """Is the whole body part of what is signed, whatever it is?"""
    always = {word for optional, piece in pieces(rule.message) if not optional for word in piece}
    return rule.body_hash is not None or any(f"{{{word}}}" in always for word in COVERING)


def _time(rule: VerifyRule) -> Faults:
    stamped, words = bool(rule.timestamp or rule.timestamp_part), set(words_of(rule.message))
    stamp = rule.stamp
    # What stands in a body or an address that is signed whole is signed with it.
    within = (stamp.field is not None and covers_body(rule)) or (
        stamp.query is not None and bool({"url", "query"} & words)
    )
    return wrong(
        (
            ("timestamp" in words) != stamped and not within,
            "message",
            "`verify.timestamp` and {timestamp} in `verify.message` go together",
        ),
        (
            rule.tolerance is not None and not stamped,
            "tolerance",
            "`verify.tolerance` needs a signed timestamp",
        ),
        (
            rule.time.endswith("_date") and rule.timestamp_part and rule.separator in (" ", ","),
            "time",
            "such a date holds blanks or a comma, at which this list is parted",
        ),
        (
            rule.time != _BLANK.time and not stamped,
            "time",
            "`verify.time` says how `timestamp` is written, and there is none",
        ),
    )


def doubts(rule: VerifyRule) -> Faults:
    """What somebody who writes a definition of their own should know: (the key, the words)."""
    return wrong(
        (
            rule.algorithm == "sha1" and rule.scheme in SIGNATURES,
            "algorithm",
            "SHA-1 is weak: use sha256 if the sender offers it",
        ),
        (
            rule.partial,
            "partial",
            "the signature does not cover the body: who has seen one request can send another body",
        ),
    )
