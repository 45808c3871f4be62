"""What a captured request's signature may be over: bodies, times, numbers, addresses."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from router.diagnosis.proof_candidates import Text, request_headers
from router.model.delivery import InboundRequest
from router.providers.evidence import Evidence, UnreadableProofError
from router.providers.messages import COVERING, words_of
from router.providers.times import READERS

MESSAGES_MAX = 8_000
_BETWEEN = ("", ".", ":", "|", "-", "\n", "&")
_STAMP_PART = re.compile(r"([A-Za-z_]{1,10}=)([0-9]{9,14})")
_NUMBER = re.compile(r"(^|[-_])(id|uuid|delivery|key|nonce)$")
_STAMPS_MAX = 6
_BEGINNINGS = ("v0:", "v1:")


class Message(msgspec.Struct, frozen=True):
    """
    A text that may be what is signed, and the keys that say so. `id`: the header of {id};
    `now_ms`: the signed time; `public_url`: the address that {url} and {path} were taken of.
    """

    keys: dict[str, Any]
    text: bytes
    id: str | None = None
    now_ms: int = 0
    public_url: str = ""


class Stamp(msgspec.Struct, frozen=True):
    """A time of the request: the keys that name its place, its text, Unix milliseconds."""

    keys: dict[str, Any]
    text: str
    ms: int


class _Unit(msgspec.Struct, frozen=True):
    """A piece of a message: its template, its bytes, and the address that it was taken of."""

    template: str
    value: bytes
    public_url: str = ""


def messages(request: InboundRequest, found: list[Text]) -> list[Message]:
    """What may be signed, the plainest first."""
    return list(itertools.islice(_all(request, found), MESSAGES_MAX))


def _all(request: InboundRequest, found: list[Text]) -> Iterator[Message]:
    bodies = list(_bodies(request))
    times = list(stamps(found))[:_STAMPS_MAX]
    yield from (_message([body]) for body in bodies)
    for stamp in times:
        time = _Unit("{timestamp}", stamp.text.encode("latin-1"))
        for lead in _BEGINNINGS:
            yield _message([_Unit(lead, lead.encode()), time, _text(":"), bodies[0]], stamp)
        for body in bodies:
            yield from _joined([time, body], stamp)
            for name, number in _numbers(found):
                yield from _joined([number, time, body], stamp, name)
    yield from _with_places(request, bodies, times)
    for text in found:
        if "field" in text.place:  # the body beside it holds it already
            continue
        unit = _Unit(_placeholder(text), text.value.encode("utf-8", "replace"))
        yield from (m for body in bodies[:2] for m in _joined([unit, body]))
    yield from _of_fields(found)


def _with_places(
    request: InboundRequest, bodies: list[_Unit], times: list[Stamp]
) -> Iterator[Message]:
    """Address, path and method, with body and time or without."""
    for place, body in itertools.product(_places(request), bodies):
        yield from _joined([place, body])
        for stamp in times:
            time = _Unit("{timestamp}", stamp.text.encode("latin-1"))
            yield from _joined([place, body, time], stamp)
    for place in _places(request):
        yield _message([place])


def _joined(
    units: list[_Unit], stamp: Stamp | None = None, number: str | None = None
) -> Iterator[Message]:
    """The units in every order, with the same text between all of them."""
    for between in _BETWEEN:
        for order in itertools.permutations(units):
            parted = [part for unit in order for part in (_text(between), unit)][1:]
            yield _message(parted, stamp, number)


def _text(text: str) -> _Unit:
    return _Unit(text, text.encode("ascii"))


def _message(units: list[_Unit], stamp: Stamp | None = None, number: str | None = None) -> Message:
    template = "".join(unit.template for unit in units)
    keys: dict[str, Any] = {"message": template} if template != "{body}" else {}
    if template != "{body}" and not COVERING & set(words_of(template)):
        keys["partial"] = True
    if stamp is not None:
        keys = {**stamp.keys, "tolerance": "300s", **keys}
    return Message(
        keys,
        b"".join(unit.value for unit in units),
        number,
        0 if stamp is None else stamp.ms,
        next((unit.public_url for unit in units if unit.public_url), ""),
    )


def _bodies(request: InboundRequest) -> Iterator[_Unit]:
    evidence = Evidence({}, request)
    yield _Unit("{body}", request.body)
    yield _Unit("{body_sha256}", evidence.body_sha256)
    try:
        sorted_form = evidence.form_sorted if evidence.is_form else None
    except UnreadableProofError:
        sorted_form = None
    if sorted_form:
        yield _Unit("{form_sorted}", sorted_form)


def _places(request: InboundRequest) -> Iterator[_Unit]:
    method = request.method
    path = request.raw_path
    yield from _and_method(_Unit("{path}", path), method)
    if request.query_string:
        whole = _Unit("{path}?{query}", path + b"?" + request.query_string)
        yield from _and_method(whole, method)
    for told in (*filter(None, (request.public_url,)), *addresses(request)):
        url = Evidence({}, msgspec.structs.replace(request, public_url=told)).url or b""
        yield from _and_method(_Unit("{url}", url, told), method)


def _and_method(place: _Unit, method: str) -> Iterator[_Unit]:
    yield place
    for between in ("", " ", "\n", "."):
        yield _Unit(
            f"{{method}}{between}{place.template}",
            f"{method}{between}".encode("latin-1") + place.value,
            place.public_url,
        )


def addresses(request: InboundRequest) -> Iterator[str]:
    """The addresses that the sender may have been told."""
    given = dict(request_headers(request))
    hosts = dict.fromkeys(given[n] for n in ("x-forwarded-host", "host") if given.get(n))
    schemes = dict.fromkeys((given.get("x-forwarded-proto", "https"), "https", "http"))
    for host, scheme in itertools.product(hosts, schemes):
        yield f"{scheme}://{host}{request.raw_path.decode('latin-1')}"


def _placeholder(text: Text) -> str:
    kind, name = next(iter(text.place.items()))
    return f"{{{'json' if kind == 'field' else kind}:{name}}}"


def _numbers(found: list[Text]) -> Iterator[tuple[str, _Unit]]:
    for text in found:
        if _NUMBER.search(text.name) and "header" in text.place:
            yield text.place["header"], _Unit("{id}", text.value.encode("latin-1"))


def _of_fields(found: list[Text]) -> Iterator[Message]:
    """Two fields that stand beside each other, as of senders that sign a time and a nonce."""
    fields = [text for text in found if "field" in text.place][:40]
    for one, other in itertools.permutations(fields, 2):
        if _folder(one) == _folder(other):
            stamp = next(stamps([one]), None) or next(stamps([other]), None)
            units = [_Unit(_placeholder(t), t.value.encode("utf-8")) for t in (one, other)]
            if stamp is None:
                yield _message(units)
                continue
            dated = [
                _Unit("{timestamp}", u.value) if u.value == stamp.text.encode() else u
                for u in units
            ]
            yield _message(dated, stamp)


def _folder(text: Text) -> str:
    return str(text.place["field"]).rpartition(".")[0]


def stamps(found: list[Text]) -> Iterator[Stamp]:
    """Times: the keys that name their place and writing, the text, the moment."""
    for text in found:
        for time, read in READERS.items():
            ms = read(text.value.encode("latin-1", "replace"))
            if ms is not None and _is_near(ms):
                place = text.place.get("header") or text.place
                keys = {"timestamp": place} | ({} if time == "seconds" else {"time": time})
                yield Stamp(keys, text.value, ms)
        for separator in (",", ";", "&"):
            for entry in text.value.split(separator) if separator in text.value else ():
                if part := _STAMP_PART.fullmatch(entry.strip()):
                    time = "seconds" if len(part[2]) <= 11 else "milliseconds"
                    keys = {"timestamp_part": part[1]}
                    keys |= {} if time == "seconds" else {"time": time}
                    yield Stamp(keys, part[2], int(part[2]) * (1000 if time == "seconds" else 1))


def _is_near(ms: int) -> bool:
    """Between 2001 and 2100: what else is written like a time is a number."""
    return 1_000_000_000_000 <= ms < 4_102_444_800_000
