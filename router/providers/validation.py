"""What must hold between the keys of a definition; every fault is named with its place."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import msgspec

from router.errors import ConfigError, Diagnostic
from router.providers import api, respond
from router.providers import validation_elsewhere as elsewhere
from router.providers.definition import (
    PLACEHOLDER,
    SIGNATURES,
    Definition,
    Names,
    UsualAnswer,
    ValueSource,
    VerifyRule,
    body_bytes,
    duration_s,
    spelled,
)
from router.typing.shapes import parse_shapes

_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_PARAMETER = re.compile(r"[A-Za-z0-9_.~-]{1,100}")
_ROOT = re.compile(r"[a-z][a-z0-9_]*")
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?:;[ -~]*)?", re.ASCII)
_METHOD = re.compile(r"[A-Z]{3,10}")
_BODY_MAX = 100 * 1024**2

_ONLY: dict[str, tuple[str, ...]] = {
    "query": ("token",),
    "algorithm": ("hmac", "ecdsa"),
    "encoding": SIGNATURES,
    "prefix": (*SIGNATURES, "token"),
    "separator": SIGNATURES,
    "message": SIGNATURES,
    "timestamp": SIGNATURES,
    "timestamp_part": SIGNATURES,
    "tolerance": (*SIGNATURES, "jwt"),
    "key": ("hmac",),
    "user": ("basic",),
    "audience": ("jwt",),
    "issuer": ("jwt",),
    "algorithms": ("jwt",),
    **elsewhere.ONLY,
}
"""Which schemes a key of `verify` belongs to."""
_BLANK = VerifyRule(scheme="none")

Place = tuple[str | int, ...]
Fault = tuple[Place, str]
_Where = TypeVar("_Where")


class Problem(msgspec.Struct, frozen=True):
    """A fault; `place` are the keys and indexes that lead to it from the definition."""

    place: Place
    message: str


def parse_definition(data: Mapping[str, object], *, file: str = "") -> Definition:
    """
    Typed and checked, from plain data as YAML gives it.

    Raises:
        ConfigError: with one diagnostic for a wrong shape, or one for each contradiction.
    """
    try:
        definition = msgspec.convert(data, Definition)
    except msgspec.ValidationError as e:
        raise _config_error(file, [str(e)]) from None
    if found := problems(definition):
        raise _config_error(file, [problem.message for problem in found])
    return definition


def _config_error(file: str, texts: list[str]) -> ConfigError:
    return ConfigError(
        tuple(
            Diagnostic(code="provider_definition", message=text, file=file or "provider")
            for text in texts
        )
    )


def problems(d: Definition) -> list[Problem]:
    """Everything that is wrong with a definition, in the order of the checks."""
    found = [Problem(place, text) for check in _CHECKS for place, text in check(d)]
    for index, rule in enumerate(d.ways):
        place: Place = ("also", index - 1) if index else ("verify",)
        found += [Problem((*place, key), text) for key, text in rule_problems(rule, d)]
    return found


def _wrong(*rows: tuple[object, _Where, str]) -> Iterator[tuple[_Where, str]]:
    """Where and what of each row (is it wrong, where, what to say) that is wrong."""
    return ((where, text) for wrong, where, text in rows if wrong)


# -- a way of proof


def rule_problems(rule: VerifyRule, d: Definition) -> Iterator[tuple[str, str]]:
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
    yield from elsewhere.problems(rule)
    user = rule.user
    yield from _wrong(
        (
            user is not None and (":" in user or not user),
            "user",
            "a user is not empty and holds no ':'",
        ),
    )
    if rule.tolerance is not None:
        yield from (("tolerance", text) for text in _unreadable(rule.tolerance, duration_s))


def _places(rule: VerifyRule) -> Iterator[tuple[str, str]]:
    names_header = "`verify.header` names the signature's header"
    yield from _wrong(
        (rule.scheme in SIGNATURES and not rule.header, "header", names_header),
        (rule.scheme == "none" and rule.header, "header", f"{names_header}; none has none"),
        (
            rule.scheme == "basic" and rule.header,
            "header",
            f"{names_header}; basic is in Authorization",
        ),
        (
            rule.header and rule.query is not None,
            "query",
            "a token is in `header` or in `query`, not in both",
        ),
        (
            rule.query is not None and not _PARAMETER.fullmatch(rule.query),
            "query",
            f"{rule.query!r} is not the name of a query parameter",
        ),
    )
    for key in ("header", "timestamp"):
        yield from ((key, text) for text in _no_headers(getattr(rule, key)))


def _no_headers(names: Names) -> Iterator[str]:
    return (f"{n!r} is not a header name" for n in spelled(names) if not _HEADER.fullmatch(n))


def _signature(rule: VerifyRule) -> Iterator[tuple[str, str]]:
    listed, part = bool(rule.separator), rule.timestamp_part
    return _wrong(
        (
            rule.scheme == "ecdsa" and (rule.encoding, rule.algorithm) != ("base64", "sha256"),
            "encoding",
            "an ecdsa signature is base64 over sha256",
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


def _message(rule: VerifyRule, d: Definition) -> Iterator[tuple[str, str]]:
    literal, stamped = PLACEHOLDER.sub("", rule.message), rule.timestamp or rule.timestamp_part
    url = "{url}" in literal
    return _wrong(
        (
            url,
            "message",
            "{url} in `verify.message` is not available: proxies change addresses",
        ),
        (
            not url and ("{" in literal or "}" in literal),
            "message",
            "`verify.message` knows {body} {timestamp} {id} and {header:NAME}",
        ),
        (
            # Without the body in it a signature proves nothing about what we act on.
            rule.message.count("{body}") != 1,
            "message",
            "`verify.message` holds {body} once",
        ),
        (
            ("{timestamp}" in rule.message) != bool(stamped),
            "message",
            "`verify.timestamp` and {timestamp} in `verify.message` go together",
        ),
        (
            "{id}" in rule.message and not (d.id and d.id.header),
            "message",
            "{id} in `verify.message` needs an `id` header",
        ),
        (
            rule.tolerance is not None and not stamped,
            "tolerance",
            "`verify.tolerance` needs a signed timestamp",
        ),
    )


def _unreadable(text: str, read: Callable[[str], float]) -> list[str]:
    try:
        read(text)
    except ValueError as e:
        return [str(e)]
    return []


# -- a definition


def _check_names(d: Definition) -> Iterator[Fault]:
    roots = [root for root in d.fields if not _ROOT.fullmatch(root)]
    methods = [method for method in d.methods if not _METHOD.fullmatch(method)]
    return _wrong(
        (not d.names, ("names",), "`names` needs at least one name"),
        *((True, ("fields", root), f"{root!r} is not a name for a root") for root in roots),
        (not d.methods, ("methods",), "`methods` needs at least one method"),
        *((True, ("methods",), f"{method!r} is not a method") for method in methods),
        (not d.reads, ("read",), "`read` is one or more of json form text"),
    )


def _check_sources(d: Definition) -> Iterator[Fault]:
    for place, source in _sources(d):
        ways = [
            bool(source.header),
            bool(source.paths),
            bool(source.key),
            source.event,
            source.body,
        ]
        yield from _wrong(
            (
                sum(ways) != 1,
                place,
                f"`{'.'.join(place)}` needs exactly one of header, field, key, event, body",
            ),
            (
                source.body and place != ("id",),
                place,
                "`body` is for `id`: what tells events apart",
            ),
            *((True, (*place, "header"), text) for text in _no_headers(source.header)),
            (
                source.key and source.prefix,
                (*place, "prefix"),
                "`prefix` goes with a header or a field, not a key",
            ),
            (
                not source.prefix.isascii() or not source.sample.isprintable(),
                place,
                "`prefix` is plain ASCII, `sample` is printable",
            ),
        )
    if d.event.event:
        yield ("event", "event"), "`event` cannot come from itself"


def _sources(d: Definition) -> Iterator[tuple[tuple[str, ...], ValueSource]]:
    if d.event != ValueSource():
        yield ("event",), d.event
    yield from ((("fields", name), source) for name, source in d.fields.items())
    optional = (("action", d.action), ("id", d.id))
    yield from (((key,), source) for key, source in optional if source is not None)


def _check_ways(d: Definition) -> Iterator[Fault]:
    first, *others = [rule.scheme for rule in d.ways]
    return _wrong(
        (
            "none" in others or (first == "none" and others),
            ("also",),
            "`none` beside another way would let everybody in",
        ),
        (
            # A key set is public: it must never be taken for a secret that both sides hold.
            any(not r.shared for r in d.ways if r.scheme == "jwt")
            and any(r.shared for r in d.ways),
            ("also",),
            "a jwt and a shared secret cannot stand beside each other",
        ),
    )


def _check_measures(d: Definition) -> Iterator[Fault]:
    late = [] if d.ack_within is None else _unreadable(d.ack_within, duration_s)
    large = _unreadable(d.body_max, body_bytes)
    if not large and body_bytes(d.body_max) > _BODY_MAX:
        large = ["`body_max` is at most 100MiB"]
    return _wrong(
        *((True, ("ack_within",), text) for text in late),
        *((True, ("body_max",), text) for text in large),
        (not (d.form_field or "").isascii(), ("form_field",), "`form_field` is plain ASCII"),
        (
            d.split is not None and not 1 <= d.split <= 1000,
            ("split",),
            "`split` is 1 to 1000 events",
        ),
    )


def _check_answer(d: Definition) -> Iterator[Fault]:
    answer = d.answer or UsualAnswer()
    return _wrong(
        (
            not 200 <= answer.status <= 299,
            ("answer", "status"),
            "`answer.status` is 200 to 299: others report a failure",
        ),
        (
            not _MEDIA_TYPE.fullmatch(answer.type),
            ("answer", "type"),
            "`answer.type` is a media type, like `text/xml`",
        ),
        ("{{" in answer.body, ("answer", "body"), "`answer.body` is static text"),
    )


def _check_split(d: Definition) -> Iterator[Fault]:
    splits = d.split is not None
    return _wrong(
        (d.split_lines and not splits, ("split_lines",), "`split_lines` needs `split`"),
        (
            # One id for all events of a batch would make all but the first of them duplicates.
            splits and d.id is not None and not d.id.paths and not d.id.body,
            ("id",),
            "with `split`, each event needs its own `id`: a field, not a header",
        ),
        (
            splits and d.reads != ("json",) and (d.form_field is None or d.reads != ("form",)),
            ("read",),
            "`split` parts JSON: `read` is json, or form with a `form_field`",
        ),
        (d.split_at is not None and not splits, ("split_at",), "`split_at` needs `split`"),
        (
            d.split_at is not None and (d.split_lines or "" in d.split_at.split(".")),
            ("split_at",),
            "`split_at` is the path of a list, like `value`; `split_lines` goes without it",
        ),
    )


def _check_handshakes(d: Definition) -> Iterator[Fault]:
    keyed = [rule.message for rule in d.ways if rule.scheme == "hmac"] or None
    shared = d.verify.shared
    for index, one in enumerate(d.respond):
        faults = respond.problems(one, d.methods, shared=shared, messages=keyed)
        yield from ((("respond", index, key), text) for key, text in faults)


def _check_parts(d: Definition) -> Iterator[Fault]:
    yield from ((("api",), text) for text in api.problems(d.api, d.names))
    try:
        parse_shapes(d.shapes)
    except ValueError as e:
        yield ("shapes",), str(e)


_CHECKS = (
    _check_names,
    _check_sources,
    _check_ways,
    _check_measures,
    _check_answer,
    _check_split,
    _check_handshakes,
    _check_parts,
)
