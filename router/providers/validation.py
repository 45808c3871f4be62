"""What must hold between the keys of a definition; every fault is named with its place."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from router.errors import ConfigError, Diagnostic
from router.providers import api, ranges_rule, respond
from router.providers.definition import (
    Definition,
    UsualAnswer,
    ValueSource,
    VerifyRule,
    body_bytes,
    duration_s,
)
from router.providers.proof_validation import no_headers, rule_problems, unreadable, wrong
from router.typing.shapes import Place, ShapeError, parse_shapes

_ROOT = re.compile(r"[a-z][a-z0-9_]*")
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?:;[ -~]*)?", re.ASCII)
_METHOD = re.compile(r"[A-Z]{3,10}")
_BODY_MAX = 100 * 1024**2

Fault = tuple[Place, str]


class Problem(msgspec.Struct, frozen=True):
    """
    A fault; `place` are the keys and indexes that lead to it from the definition: to a value, or
    with `of_key` to the key itself.
    """

    place: Place
    message: str
    hint: str | None = None
    of_key: bool = False


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
    for place, rule in ways(d):
        found += [Problem((*place, key), text) for key, text in rule_problems(rule, d)]
    try:
        parse_shapes(d.shapes)
    except ShapeError as e:
        found.append(Problem(("shapes", *e.place), str(e), e.hint, e.of_key))
    return found


def ways(d: Definition) -> list[tuple[Place, VerifyRule]]:
    """Every way of proof with its place."""
    return [(("verify",), d.verify), *((("also", at), rule) for at, rule in enumerate(d.also))]


# -- a definition


def _check_names(d: Definition) -> Iterator[Fault]:
    roots = [root for root in d.fields if not _ROOT.fullmatch(root)]
    methods = [method for method in d.methods if not _METHOD.fullmatch(method)]
    return wrong(
        (not d.names, ("names",), "`names` needs at least one name"),
        *((True, ("fields", root), f"{root!r} is not a name for a root") for root in roots),
        (not d.methods, ("methods",), "`methods` needs at least one method"),
        *((True, ("methods",), f"{method!r} is not a method") for method in methods),
        (not d.reads, ("read",), "`read` is one or more of json form text multipart xml"),
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
        yield from wrong(
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
            (
                bool(source.varies) and not source.body,
                (*place, "varies"),
                "`varies` goes with `body: true`: other ids are made anew as they are",
            ),
            (
                source.all and (place != ("id",) or not source.paths),
                place,
                "`all` is for `id`, and for its fields",
            ),
            *((True, (*place, "header"), text) for text in no_headers(source.header)),
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
    return wrong(
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
    late = [] if d.ack_within is None else unreadable(d.ack_within, duration_s)
    large = unreadable(d.body_max, body_bytes)
    if not large and body_bytes(d.body_max) > _BODY_MAX:
        large = ["`body_max` is at most 100MiB"]
    return wrong(
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
    return wrong(
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
    return wrong(
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
    by_api = d.api is not None and d.api.ranges is not None
    faults = ranges_rule.problems(d.ranges, by_api=by_api)
    yield from ((("ranges", key), text) for key, text in faults)


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
