"""The facts of providers as Markdown, so that docs/ says what the definitions say."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from router.expressions import encode_json
from router.providers.api import ApiRule
from router.providers.definition import (
    SIGNATURES,
    BodyHash,
    Names,
    ProofPlace,
    UsualAnswer,
    ValueSource,
    VerifyRule,
    spelled,
)
from router.providers.provider import EventInfo, Provider
from router.providers.respond import ANYTHING, Handshake, place_of, scalar_text

_LIST = re.compile(r"(<!-- providers -->\n).*?(<!-- end -->)", re.DOTALL)
_BLOCK = re.compile(r"(<!-- facts: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def refreshed(text: str, providers: Mapping[str, Provider]) -> str:
    """
    The page with every block between `<!-- facts: NAME -->` (or `<!-- providers -->`: the list of
    all) and `<!-- end -->` rewritten.

    Raises:
        KeyError: a block names no provider.
    """
    text = _LIST.sub(lambda m: f"{m[1]}\n{listed(providers)}\n{m[2]}", text)
    return _BLOCK.sub(lambda m: f"{m[1]}\n{facts(providers[m[2]])}\n{m[3]}", text)


def listed(providers: Mapping[str, Provider]) -> str:
    """A table of all providers, with the pages about them."""
    every = {p.name: _row(p) for p in providers.values()}
    header = next(iter(every.values()))
    rows = [header.keys(), ["---"] * len(header), *(row.values() for row in every.values())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _row(provider: Provider) -> dict[str, str]:
    d = provider.definition
    return {
        "Sender": f"[{provider.label}](providers/{page_name(provider)}.md)",
        "`provider:`": _headers((provider.name, *provider.aliases)),
        "Proof": " or ".join(dict.fromkeys(_KINDS[rule.scheme] for rule in d.ways)),
    }


def _signed_text(rule: VerifyRule) -> str:
    """What is signed, in a cell of a table."""
    text = rule.message.replace("\n", "\\n").replace("|", "\\|")
    return f"`{text}`"


_ORACLES = {
    "library": "its library",
    "vector": "its examples",
    "none": "its documentation",
}


def page_name(provider: Provider) -> str:
    """What its page is called: the name that people know, where a neutral one comes first."""
    known = provider.name in ("commerce", "email", "code-host")
    return provider.aliases[0] if known else provider.name


_KINDS = {
    "hmac": "HMAC",
    "ecdsa": "ECDSA",
    "ed25519": "Ed25519",
    "rsa": "RSA",
    "token": "token",
    "basic": "password",
    "jwt": "JWT",
    "introspection": "introspection",
    "none": "none",
}


def facts(provider: Provider) -> str:
    """What to know, how it sends, and which events it knows."""
    rows = [f"- {note}" for note in provider.definition.notes]
    rows += ["", "| | |", "|---|---|"] if rows else ["| | |", "|---|---|"]
    rows += [f"| {name} | {value} |" for name, value in _ways(provider)]
    if provider.events:
        rows += ["", "| Group | Event | Actions |", "|---|---|---|"]
        rows += _event_rows(provider.events)
    return "\n".join(rows) + "\n"


def _ways(provider: Provider) -> list[tuple[str, str]]:
    d = provider.definition
    rows = [
        ("`provider:`", _headers((provider.name, *provider.aliases))),
        *(("or" if index else "Proof", _proof(rule)) for index, rule in enumerate(d.ways)),
        ("Event name", "always `unknown`" if d.event == ValueSource() else _source(d.event)),
        ("Action", _source(d.action) if d.action else None),
        ("Id, for dropping duplicates", _source(d.id) if d.id else None),
        *((f"`{root}` in expressions", _source(source)) for root, source in d.fields.items()),
        ("Wrong or missing signature", f"{provider.refuse_with}"),
        *(("Handshake", _handshake(handshake)) for handshake in d.respond),
        ("Answer to a delivery", _answer(d.answer)),
        ("Methods", ", ".join(d.methods)),
        ("Bodies", " or ".join(d.reads)),
        ("Largest body", d.body_max),
        (
            "Events in one delivery",
            d.split and f"up to {d.split:,}{f', at `{d.split_at}`' if d.split_at else ''}",
        ),
        ("Answer expected within", d.ack_within),
        ("What the sender could not deliver", _missed(d.api)),
        ("Published addresses", f"`{d.ranges.url}`" if d.ranges else None),
        ("Our verdicts are held against", None if d.generic else _ORACLES[d.oracle]),
        ("Source", ", ".join(map(_linked, d.source)) or None),
    ]
    return [(name, value) for name, value in rows if value is not None]


def _missed(rule: ApiRule | None) -> str | None:
    if rule is None or rule.recover is None:
        return None
    return "; ".join((rule.recover.described(), *rule.recover.limits))


def _linked(source: str) -> str:
    return f"<{source}>" if source.startswith("https://") else source


def _proof(rule: VerifyRule) -> str:
    after = f" after `{rule.lead}`" if rule.lead else ""
    where = f"in {_proof_place(rule)}{after}"
    if rule.scheme in SIGNATURES:
        return _signature(rule)
    if rule.scheme == "token":
        return f"the secret itself, {where}"
    if rule.scheme == "basic":
        who = (
            "`user:password`, the secret" if rule.user is None else f"`{rule.user}` and the secret"
        )
        return f"{who}, {where}"
    return _token(rule, where) if rule.scheme == "jwt" else "none"


def _token(rule: VerifyRule, where: str) -> str:
    issued = {"the issuer": rule.issuer, "the audience": rule.audience} | {
        f"`{name}`": value for name, value in rule.claims.items()
    }
    told = [f"{name} `{scalar_text(value)}`" for name, value in issued.items() if value is not None]
    parts = (
        f"a token signed with {' or '.join(rule.algorithms)}, {where}",
        f"; its keys are at <{rule.jwks_url}>" if rule.jwks_url else "",
        f"; it has {', '.join(told)}" if told else "",
        f"; the body's SHA-256 stands in its `{rule.body_hash.claim}`" if rule.body_hash else "",
        f"; the endpoint says {' and '.join(f'`{key}`' for key in rule.ask)}" if rule.ask else "",
    )
    return "".join(parts)


def _signature(rule: VerifyRule) -> str:
    parts = (
        f"{_MADE_BY[rule.scheme].format(rule.algorithm.upper())} over {_signed_text(rule)}",
        f", in {_WRITTEN.get(rule.encoding, rule.encoding)}",
        rule.prefix and f" after `{rule.prefix}`",
        f", in {_proof_place(rule)}",
        rule.separator and f" (a list, parted by `{rule.separator}`)",
        *_dated(rule),
        _hashed(rule.body_hash),
        _certified(rule),
        f"; the field `{rule.equals}` is the secret" if rule.equals else "",
        f"; the secret is {rule.key}" if rule.key != "text" else "",
        "; **the body is not signed whole**" if rule.partial else "",
    )
    return "".join(parts)


def _certified(rule: VerifyRule) -> str:
    if (given := rule.certificate) is None:
        return ""
    where, hosts = _place(given.place), " or ".join(f"`{host}`" for host in given.hosts)
    return f"; by the certificate at the address in {where}, fetched from {hosts} only"


_MADE_BY = {
    "hmac": "HMAC with {}",
    "ecdsa": "ECDSA on P-256 with SHA256",
    "ed25519": "Ed25519",
    "rsa": "RSA with {}",
}
_WRITTEN = {"hex_upper": "hex (capital letters)"}


def _dated(rule: VerifyRule) -> Iterator[str]:
    written = {"seconds": "", "iso8601": " (ISO 8601)", "http_date": " (an HTTP date)"}
    if rule.timestamp:
        yield f"; timestamp in {_place(rule.stamp)}"
        yield written.get(rule.time, f" ({rule.time})")
    if rule.timestamp_part:
        yield f"; timestamp after `{rule.timestamp_part}` in that list"
    if rule.tolerance:
        yield f", at most {rule.tolerance} off"


def _hashed(found: BodyHash | None) -> str:
    return f"; the body's SHA-256 stands in {_place(found.place)}" if found else ""


def _proof_place(rule: VerifyRule) -> str:
    place = _place(ProofPlace(rule.place, rule.query, rule.field))
    return f"{place} of each item of `{rule.each}`" if rule.each else place


def _place(place: ProofPlace) -> str:
    if place.query is not None:
        return f"the query parameter `{place.query}`"
    return _headers(place.header) if place.field is None else f"the field `{place.field}`"


def _handshake(one: Handshake) -> str:
    when = " and ".join(_condition(one, name, value) for name, value in one.when.items())
    echo = "" if one.echo is None else _asked_at(one, one.echo)
    headers = [f"`{name}: {value}`" for name, value in one.answer_headers.items()]
    parts = (
        _answered(one, echo),
        f"in the header {' and '.join(headers)}" if headers else "",
        f"`{{echo}}` is {echo}" if echo and one.answer is not None else "",
        f"if `{one.token}` is a secret" if one.token else "",
        f"then the address in {_asked_at(one, one.visit)} is fetched" if one.visit else "",
        "it comes unsigned" if one.unsigned else "",
    )
    asked = f"{one.method}{f' where {when}' if when else ''}"
    return f"{asked}: {', '.join(part for part in parts if part)}"


def _answered(one: Handshake, echo: str) -> str:
    if one.answer is None:
        return f"{echo} is sent back" if echo else f"answered with {one.status}"
    if isinstance(one.answer, str):
        return f"answered with `{one.answer}`" if one.answer else f"answered with {one.status}"
    return f"answered with `{encode_json(one.answer).decode()}`"


def _condition(one: Handshake, name: str, value: object) -> str:
    place = _asked_at(one, name)
    return f"{place} is there" if value == ANYTHING else f"{place} is `{scalar_text(value)}`"


def _asked_at(one: Handshake, text: str) -> str:
    place = place_of(text, one.method)
    usual = place_of("", one.method).kind == place.kind
    words = {"field": "the field ", "query": "the query parameter ", "header": "the header "}
    return f"{'' if usual else words[place.kind]}`{place.name}`"


def _answer(answer: UsualAnswer | None) -> str | None:
    if answer is None:
        return None
    return f"{answer.status}" + (f", `{answer.body}`" if answer.body else ", nothing in it")


def _source(source: ValueSource) -> str:
    if source.event:
        return "the event name"
    if source.body:
        return "none is sent: the event's name and bytes"
    if source.key:
        return f"the key that is there, of {_headers(source.key)}{_named(source)}"
    fields = (" and " if source.all else " or ").join(f"`{path}`" for path in source.paths)
    where = f"field {fields}" if fields else _headers(source.header)
    return (f"{where}, after `{source.prefix}`" if source.prefix else where) + _named(source)


def _named(source: ValueSource) -> str:
    each = [f"`{value}` is called `{name}`" for value, name in source.named.items()]
    return f" ({', '.join(each)})" if each else ""


def _headers(names: Names) -> str:
    return " or ".join(f"`{name}`" for name in spelled(names))


_ROWS_MAX = 60


def _event_rows(events: Sequence[EventInfo]) -> Iterator[str]:
    """A row for each; of a long catalogue for those of a group that have the same actions."""
    apart = len(events) <= _ROWS_MAX

    def alike(event: EventInfo) -> tuple[str, ...]:
        return (event.group, _actions(event), *([event.name] if apart else ()))

    for (group, actions, *_), several in groupby(events, alike):
        names = ", ".join(f"`{event.name}`{'*' if event.assumed else ''}" for event in several)
        yield f"| {group} | {names} | {actions} |"


def _actions(event: EventInfo) -> str:
    marks = dict.fromkeys(event.assumed_actions, "*")
    return ", ".join(f"`{action}`{marks.get(action, '')}" for action in event.actions)
