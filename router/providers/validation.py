"""What must hold between the keys of a definition; every fault is named with its place."""

import re
from collections.abc import Callable, Iterator, Mapping

import msgspec

from router.errors import ConfigError, Diagnostic
from router.providers import api
from router.providers.definition import (
    PLACEHOLDER,
    SHARED,
    SIGNATURES,
    Definition,
    Handshake,
    Names,
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
}
"""Which schemes a key of `verify` belongs to."""


class Problem(msgspec.Struct, frozen=True):
    """A fault; `place` are the keys and indexes that lead to it from the definition."""

    place: tuple[str | int, ...]
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
    found = [problem for check in _CHECKS for problem in check(d)]
    for index, rule in enumerate(d.ways):
        place: tuple[str | int, ...] = ("also", index - 1) if index else ("verify",)
        found += [Problem((*place, key), text) for key, text in rule_problems(rule, d)]
    return found


def rule_problems(rule: VerifyRule, d: Definition) -> Iterator[tuple[str, str]]:
    """What is wrong with one way of proof: (its key, the words)."""
    yield from _foreign_keys(rule)
    plain = ("prefix", "message", "timestamp_part")
    yield from (
        (k, f"`verify.{k}` is plain ASCII") for k in plain if not getattr(rule, k).isascii()
    )
    yield from _places(rule)
    if rule.scheme in SIGNATURES:
        yield from _signature(rule)
        yield from _message(rule, d)
    if rule.scheme == "jwt":
        yield from _jwt(rule)
    if rule.user is not None and (":" in rule.user or not rule.user):
        yield "user", "a user is not empty and holds no ':'"
    if rule.tolerance is not None:
        yield from (("tolerance", text) for text in _unreadable(rule.tolerance, duration_s))


def _foreign_keys(rule: VerifyRule) -> Iterator[tuple[str, str]]:
    for key, schemes in _ONLY.items():
        default = VerifyRule.__struct_defaults__[VerifyRule.__struct_fields__.index(key) - 1]
        if getattr(rule, key) != default and rule.scheme not in schemes:
            yield key, f"`verify.{key}` does not go with the scheme {rule.scheme}"


def _places(rule: VerifyRule) -> Iterator[tuple[str, str]]:
    if rule.scheme in SIGNATURES and not rule.header:
        yield "header", "`verify.header` names the signature's header"
    if rule.scheme in ("none", "basic") and rule.header:
        where = "none has none" if rule.scheme == "none" else "basic is in Authorization"
        yield "header", f"`verify.header` names the signature's header; {where}"
    if rule.header and rule.query is not None:
        yield "query", "a token is in `header` or in `query`, not in both"
    if rule.query is not None and not _PARAMETER.fullmatch(rule.query):
        yield "query", f"{rule.query!r} is not the name of a query parameter"
    for key in ("header", "timestamp"):
        yield from ((key, text) for text in _no_headers(getattr(rule, key)))


def _no_headers(names: Names) -> Iterator[str]:
    return (f"{n!r} is not a header name" for n in spelled(names) if not _HEADER.fullmatch(n))


def _signature(rule: VerifyRule) -> Iterator[tuple[str, str]]:
    if rule.scheme == "ecdsa" and (rule.encoding, rule.algorithm) != ("base64", "sha256"):
        yield "encoding", "an ecdsa signature is base64 over sha256"
    if rule.separator and rule.separator in rule.prefix + rule.timestamp_part:
        # `v1,` in a list that spaces part is fine; a prefix that is cut apart never fits.
        yield "separator", "`verify.separator` cannot stand within `prefix` or `timestamp_part`"
    if rule.timestamp_part and not rule.separator:
        yield "timestamp_part", "`verify.timestamp_part` needs `separator`: it is one of a list"
    if rule.timestamp_part and (rule.timestamp or rule.timestamp_part == rule.prefix):
        yield "timestamp_part", "the timestamp has one place of its own: a header or a part"
    if rule.separator and not rule.prefix:
        yield "separator", "with `separator`, `prefix` tells signatures from other entries"


def _message(rule: VerifyRule, d: Definition) -> Iterator[tuple[str, str]]:
    literal = PLACEHOLDER.sub("", rule.message)
    if "{url}" in literal:
        yield "message", "{url} in `verify.message` is not available: proxies change addresses"
    elif "{" in literal or "}" in literal:
        yield "message", "`verify.message` knows {body} {timestamp} {id} and {header:NAME}"
    # Without the body in it a signature proves nothing about what we act on.
    if rule.message.count("{body}") != 1:
        yield "message", "`verify.message` holds {body} once"
    if ("{timestamp}" in rule.message) != bool(rule.timestamp or rule.timestamp_part):
        yield "message", "`verify.timestamp` and {timestamp} in `verify.message` go together"
    if "{id}" in rule.message and not (d.id and d.id.header):
        yield "message", "{id} in `verify.message` needs an `id` header"
    if rule.tolerance is not None and not (rule.timestamp or rule.timestamp_part):
        yield "tolerance", "`verify.tolerance` needs a signed timestamp"


def _jwt(rule: VerifyRule) -> Iterator[tuple[str, str]]:
    if not rule.algorithms:
        yield "algorithms", "`verify.algorithms` is one or more of RS256 ES256 EdDSA"
    if not (rule.audience or rule.issuer):
        yield "audience", "a jwt needs `audience` or `issuer`: else any token of that key fits"


def _check_names(d: Definition) -> Iterator[Problem]:
    if not d.names:
        yield Problem(("names",), "`names` needs at least one name")
    for root in (root for root in d.fields if not _ROOT.fullmatch(root)):
        yield Problem(("fields", root), f"{root!r} is not a name for a root")
    if not d.methods:
        yield Problem(("methods",), "`methods` needs at least one method")
    for method in (method for method in d.methods if not _METHOD.fullmatch(method)):
        yield Problem(("methods",), f"{method!r} is not a method")
    if not d.reads:
        yield Problem(("read",), "`read` is one or more of json form text")


def _check_sources(d: Definition) -> Iterator[Problem]:
    for place, source in _sources(d):
        if sum([bool(source.header), bool(source.paths), bool(source.key), source.event]) != 1:
            text = f"`{'.'.join(place)}` needs exactly one of header, field, key, event"
            yield Problem(place, text)
        yield from (Problem((*place, "header"), text) for text in _no_headers(source.header))
        if source.key and source.prefix:
            yield Problem((*place, "prefix"), "`prefix` goes with a header or a field, not a key")
        if not source.prefix.isascii() or not source.sample.isprintable():
            yield Problem(place, "`prefix` is plain ASCII, `sample` is printable")
    if d.event.event:
        yield Problem(("event", "event"), "`event` cannot come from itself")


def _check_ways(d: Definition) -> Iterator[Problem]:
    schemes = [rule.scheme for rule in d.ways]
    if "none" in schemes[1:] or (schemes[0] == "none" and d.also):
        yield Problem(("also",), "`none` beside another way would let everybody in")
    # A key set is public: it must never be taken for a secret that both sides hold.
    if "jwt" in schemes and any(scheme in SHARED for scheme in schemes):
        yield Problem(("also",), "a jwt and a shared secret cannot stand beside each other")


def _check_measures(d: Definition) -> Iterator[Problem]:
    if d.ack_within is not None:
        yield from (Problem(("ack_within",), t) for t in _unreadable(d.ack_within, duration_s))
    unreadable = _unreadable(d.body_max, body_bytes)
    if not unreadable and body_bytes(d.body_max) > _BODY_MAX:
        unreadable = ["`body_max` is at most 100MiB"]
    yield from (Problem(("body_max",), text) for text in unreadable)
    if d.form_field is not None and not d.form_field.isascii():
        yield Problem(("form_field",), "`form_field` is plain ASCII")
    if d.split is not None and not 1 <= d.split <= 1000:
        yield Problem(("split",), "`split` is 1 to 1000 events")


def _check_split(d: Definition) -> Iterator[Problem]:
    if d.split is None:
        if d.split_lines:
            yield Problem(("split_lines",), "`split_lines` needs `split`")
        return
    # One id for all events of a batch would make all but the first of them duplicates.
    if d.id is not None and not d.id.paths:
        yield Problem(("id",), "with `split`, each event needs its own `id`: a field, not a header")
    if d.form_field is not None:
        yield Problem(("form_field",), "`split` and `form_field` do not go together")
    if d.reads != ("json",):
        yield Problem(("read",), "`split` parts JSON: `read` is json")


def _check_handshakes(d: Definition) -> Iterator[Problem]:
    for index, one in enumerate(d.respond):
        yield from (Problem(("respond", index, key), text) for key, text in _handshake(one, d))


def _handshake(handshake: Handshake, d: Definition) -> Iterator[tuple[str, str]]:
    if not handshake.echo:
        yield "echo", "`echo` names what is sent back"
    if handshake.method == "GET" and "GET" in d.methods:
        yield "method", "GET cannot be both a delivery and a handshake"
    if handshake.method == "POST":
        if "POST" not in d.methods:
            yield "method", "a handshake by POST needs POST in `methods`"
        if not handshake.when:
            yield "when", "a handshake by POST needs `when`: else every delivery were one"
        if handshake.token is not None:
            yield "token", "`token` is for handshakes by GET; those by POST are verified whole"
    elif handshake.token is not None and d.verify.scheme not in SHARED:
        yield "token", "`token` would show a public key: nobody proves anything with it"


def _unreadable(text: str, read: Callable[[str], float]) -> list[str]:
    try:
        read(text)
    except ValueError as e:
        return [str(e)]
    return []


def _sources(d: Definition) -> Iterator[tuple[tuple[str, ...], ValueSource]]:
    if d.event != ValueSource():
        yield ("event",), d.event
    yield from ((("fields", name), source) for name, source in d.fields.items())
    optional = (("action", d.action), ("id", d.id))
    yield from (((key,), source) for key, source in optional if source is not None)


def _check_parts(d: Definition) -> Iterator[Problem]:
    yield from (Problem(("api",), text) for text in api.problems(d.api, d.names))
    try:
        parse_shapes(d.shapes)
    except ValueError as e:
        yield Problem(("shapes",), str(e))


_CHECKS = (
    _check_names,
    _check_sources,
    _check_ways,
    _check_measures,
    _check_split,
    _check_handshakes,
    _check_parts,
)
