"""
A provider as data: the typed shape of a definition, and what must hold between its keys.

The built-in definitions and those that users write have the same keys. An unknown key, a wrong
type or a contradiction is a ConfigError; nothing is guessed.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from router.errors import ConfigError, Diagnostic

Names = str | tuple[str, ...]
"""One name, or a list of names."""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    Where one value of an event comes from: exactly one of the three.

    `header`: a header, in any of these spellings. `field`: a dotted path in the event's JSON.
    `event`: the event's own name. `prefix` must begin the value and is taken off; `sample` is
    what a test delivery sends in the header.
    """

    header: Names = ()
    field: str | None = None
    event: bool = False
    prefix: str = ""
    sample: str = ""


class VerifyRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    How the sender proves itself.

    `message` is what is signed, a template over {body}, {timestamp}, {id} and {header:NAME}.
    `tolerance` is the age that a signed timestamp may have (`300s`); None: any age.
    """

    scheme: Literal["hmac", "ecdsa", "none"]
    header: Names = ()
    algorithm: Literal["sha256", "sha512"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"
    prefix: str = ""
    message: str = "{body}"
    timestamp: Names = ()
    tolerance: str | None = None


class EventGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Events of the catalogue. `assumed`: known from elsewhere, not shown by the interface."""

    group: str
    names: tuple[str, ...]
    actions: tuple[str, ...] = ()
    assumed_actions: tuple[str, ...] = ()
    assumed: bool = False


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"events": "for"}):
    """
    A believable payload for the named events; `*` is for every event not named before it.

    `assumed` names those of them (`*`: all) whose payload the interface does not show.
    """

    events: Names
    payload: Any
    assumed: Names = ()


class Definition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    A provider, whole. The first of `names` is its name, the others are aliases.

    `split`: the body is an array of at most so many events; `split_lines`: the sender ends each
    of them with CRLF and writes `<` `>` `&` as escapes. `form_field`: a form-encoded body holds
    the JSON in this field. `body_max` is a size (`5MiB`), `ack_within` a time (`5s`). `notes` are
    further limits and habits of the sender, for people.
    """

    names: tuple[str, ...]
    label: str
    verify: VerifyRule
    event: Source
    about: str = ""
    refuse_with: Literal[401, 403] = 401
    methods: tuple[str, ...] = ("POST",)
    read: Literal["json"] = "json"
    form_field: str | None = None
    action: Source | None = None
    id: Source | None = None
    split: int | None = None
    split_lines: bool = False
    fields: dict[str, Source] = {}
    ack_within: str | None = None
    body_max: str = "5MiB"
    notes: tuple[str, ...] = ()
    events: tuple[EventGroup, ...] = ()
    samples: tuple[Sample, ...] = ()


def spelled(names: Names) -> tuple[str, ...]:
    """The spellings as a tuple."""
    return (names,) if isinstance(names, str) else names


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
    problems = [text for check in _CHECKS for text in check(definition)]
    if problems:
        raise _config_error(file, problems)
    return definition


def duration_s(text: str) -> float:
    """Seconds in `500ms`, `5s`, `10m`, `2h`, `1d`."""
    return _measured(text, _TIMES)


def size_bytes(text: str) -> int:
    """Bytes in `64KiB`, `25MiB`, `1GiB`."""
    return int(_measured(text, _SIZES))


_TIMES = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_SIZES = {"KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3}
_MEASURE = re.compile(r"([1-9][0-9]{0,8})([A-Za-z]+)")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_ROOT = re.compile(r"[a-z][a-z0-9_]*")
_METHOD = re.compile(r"[A-Z]{3,10}")
PLACEHOLDER = re.compile(r"\{(body|timestamp|id|header:[A-Za-z0-9-]{1,100})\}")


def _measured(text: str, units: Mapping[str, float]) -> float:
    found = _MEASURE.fullmatch(text)
    if found is None or found[2] not in units:
        raise ValueError(f"{text!r} is not a number with one of {' '.join(units)}")
    return int(found[1]) * units[found[2]]


def _config_error(file: str, texts: list[str]) -> ConfigError:
    return ConfigError(
        tuple(
            Diagnostic(code="provider_definition", message=text, file=file or "provider")
            for text in texts
        )
    )


def _check_names(d: Definition) -> list[str]:
    problems = [] if d.names else ["`names` needs at least one name"]
    problems += [f"{r!r} is not a name for a root" for r in d.fields if not _ROOT.fullmatch(r)]
    return problems + [f"{m!r} is not a method" for m in d.methods if not _METHOD.fullmatch(m)]


def _check_headers(d: Definition) -> list[str]:
    named = [*spelled(d.verify.header), *spelled(d.verify.timestamp)]
    for source in _sources(d).values():
        named += spelled(source.header)
    return [f"{name!r} is not a header name" for name in named if not _HEADER.fullmatch(name)]


def _check_sources(d: Definition) -> list[str]:
    problems = []
    for place, source in _sources(d).items():
        given = [bool(source.header), source.field is not None, source.event]
        if sum(given) != 1:
            problems.append(f"`{place}` needs exactly one of header, field, event")
    if d.event.event:
        problems.append("`event` cannot come from itself")
    return problems


def _check_verify(d: Definition) -> list[str]:
    rule, problems = d.verify, []
    if (rule.scheme == "none") == bool(rule.header):
        problems.append("`verify.header` names the signature's header; `none` has none")
    if rule.scheme == "ecdsa" and (rule.encoding, rule.algorithm) != ("base64", "sha256"):
        problems.append("an ecdsa signature is base64 over sha256")
    if not (rule.prefix + rule.message).isascii():
        problems.append("`verify.prefix` and `verify.message` are plain ASCII")
    literal = PLACEHOLDER.sub("", rule.message)
    if "{" in literal or "}" in literal:
        problems.append("`verify.message` knows {body} {timestamp} {id} and {header:NAME}")
    # Without the body in it a signature proves nothing about what we act on.
    if rule.message.count("{body}") != 1:
        problems.append("`verify.message` holds {body} once")
    if ("{timestamp}" in rule.message) != bool(rule.timestamp):
        problems.append("`verify.timestamp` and {timestamp} in `verify.message` go together")
    if "{id}" in rule.message and not (d.id and d.id.header):
        problems.append("{id} in `verify.message` needs an `id` header")
    if rule.tolerance is not None and not rule.timestamp:
        problems.append("`verify.tolerance` needs a signed timestamp")
    return problems


def _check_measures(d: Definition) -> list[str]:
    problems = []
    for text, read in ((d.ack_within, duration_s), (d.verify.tolerance, duration_s)):
        problems += _unreadable(text, read)
    problems += _unreadable(d.body_max, size_bytes)
    if d.split is not None and not 1 <= d.split <= 1000:
        problems.append("`split` is 1 to 1000 events")
    return problems


def _check_split(d: Definition) -> list[str]:
    if d.split is None:
        return ["`split_lines` needs `split`"] if d.split_lines else []
    problems = []
    # One id for all events of a batch would make all but the first of them duplicates.
    if d.id is not None and d.id.field is None:
        problems.append("with `split`, each event needs its own `id`: a field, not a header")
    if d.form_field is not None:
        problems.append("`split` and `form_field` do not go together")
    return problems


def _unreadable(text: str | None, read: Any) -> list[str]:
    try:
        if text is not None:
            read(text)
    except ValueError as e:
        return [str(e)]
    return []


def _sources(d: Definition) -> dict[str, Source]:
    found = {"event": d.event} | {f"fields.{name}": s for name, s in d.fields.items()}
    optional = {"action": d.action, "id": d.id}
    return found | {place: s for place, s in optional.items() if s is not None}


_CHECKS = (
    _check_names,
    _check_headers,
    _check_sources,
    _check_verify,
    _check_measures,
    _check_split,
)
