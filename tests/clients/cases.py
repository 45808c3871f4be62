"""Random requests: genuine ones, and ones that differ from a genuine one in one way."""

import random
from collections.abc import Callable

import msgspec

from router.model.delivery import InboundRequest, LiveSecret, Verified
from router.providers import Provider, builtin
from router.providers.definition import spelled
from router.providers.signatures import DECODERS, encode
from router.providers.times import READERS, WRITERS
from tests.clients.libraries import ADDRESS, Library

Headers = dict[str, str]


class Case(msgspec.Struct, frozen=True):
    """One request. `how` names what was done to it."""

    how: str
    headers: Headers
    body: bytes
    secret: bytes
    now_s: int


def a_case(library: Library, rng: random.Random, now_s: int) -> Case:
    """A case for this library; about a third are genuine."""
    provider = builtin()[library.provider]
    made = provider.invent_secret(rng.randbytes)
    stamp_s = now_s + rng.choice((0, 0, 0, -270, 270, -330, 330, -86_400, 10**6))
    number = f"msg_{rng.randrange(10**9)}"
    signed = provider.prove(
        event="made",
        body=_content(library, number, rng),
        key=made.sign,
        delivery_id=number,
        now_ms=stamp_s * 1000,
        public_url=ADDRESS,
    )
    case = Case("as it was sent", dict(signed.headers), signed.body, made.verify, now_s)
    return case if rng.random() < 0.3 else rng.choice(changes_of(provider))(case, provider, rng)


def _content(library: Library, number: str, rng: random.Random) -> bytes:
    """Any bytes, unless the proof stands among them."""
    provider = builtin()[library.provider]
    if _signature_name(provider):
        return "".join(rng.choices(library.texts, k=rng.randrange(1, 6))).encode()
    event = rng.choice(provider.events).name
    return provider.compose(provider.sample(event), number)


def ours(library: Library, case: Case) -> bool:
    """What the router says."""
    headers = tuple((n.lower().encode(), v.encode("latin-1")) for n, v in case.headers.items())
    request = InboundRequest("POST", b"/wh_x", b"", headers, case.body, "", 0, ADDRESS)
    secrets = [LiveSecret("s", case.secret)]
    provider = builtin()[library.provider]
    return isinstance(provider.verify(request, secrets, now_ms=case.now_s * 1000), Verified)


# -- what is done to them -------------------------------------------------------------------------


def _changed(case: Case, how: str, **fields: object) -> Case:
    return msgspec.structs.replace(case, how=how, **fields)


def _body(case: Case, _provider: Provider, rng: random.Random) -> Case:
    at = rng.randrange(len(case.body) + 1)
    altered = case.body[:at] + b"x" + case.body[at:]
    text = altered.decode("utf-8", "ignore").encode()
    return _changed(case, "another body", body=text)


def _secret(case: Case, provider: Provider, rng: random.Random) -> Case:
    return _changed(case, "another secret", secret=provider.invent_secret(rng.randbytes).verify)


def _missing(case: Case, provider: Provider, rng: random.Random) -> Case:
    names = [n for n in case.headers if n not in ("Content-Type",)]
    gone = rng.choice(names)
    rest = {n: v for n, v in case.headers.items() if n != gone}
    proofs = {_signature_name(provider), *_stamp_names(provider)}
    needed = gone in proofs or gone in ("webhook-id", "svix-id")
    return _changed(case, f"without {gone}", headers=rest if needed else case.headers)


def _stamp(case: Case, provider: Provider, rng: random.Random) -> Case:
    names = _stamp_names(provider)
    by = rng.choice((-1, 1, 10))
    if names:
        time = provider.definition.verify.time
        there = READERS[time](case.headers[names[0]].encode()) or 0
        moved = WRITERS[time](there + by * 1000)
        return _changed(case, "another time", headers=case.headers | {names[0]: moved})
    if not provider.definition.verify.timestamp_part:
        return case
    name = _signature_name(provider)
    stamp, comma, rest = case.headers[name].partition(",")
    moved = f"t={int(stamp[2:]) + by}{comma}{rest}"
    return _changed(case, "another time", headers=case.headers | {name: moved})


def _signature(case: Case, provider: Provider, rng: random.Random) -> Case:
    """Bits are turned in the bytes and not in the text: we are stricter with texts than others."""
    name, rule = _signature_name(provider), provider.definition.verify
    lead, text = _parted(case.headers[name], rule.prefix)
    raw = DECODERS[rule.encoding](text.encode()) or b""
    at = rng.randrange(len(raw))
    near = raw[:at] + bytes([raw[at] ^ (1 << rng.randrange(8))]) + raw[at + 1 :]
    proof = lead + encode(near, rule.encoding).decode()
    return _changed(case, "another signature", headers=case.headers | {name: proof})


def _several(case: Case, provider: Provider, rng: random.Random) -> Case:
    """More entries in the list, before and behind; where there is no list, the case as it is."""
    name, rule = _signature_name(provider), provider.definition.verify
    if not rule.separator:
        return case
    lead, text = _parted(case.headers[name], rule.prefix)
    good, zeros = rule.prefix + text, rule.prefix + encode(bytes(32), rule.encoding).decode()
    other = rule.prefix.replace("1", "0") + text
    entries = rng.choices((good, zeros, other), k=rng.randrange(1, 8))
    start = lead.removesuffix(rule.prefix)
    listed = start + rule.separator.join(entries)
    return _changed(case, "several signatures", headers=case.headers | {name: listed})


def _parted(value: str, prefix: str) -> tuple[str, str]:
    before, _, text = value.rpartition(prefix) if prefix else ("", "", value)
    return before + prefix, text


def _signature_name(provider: Provider) -> str:
    """The header that holds the signature; "" where it stands in the body."""
    return next(iter(spelled(provider.definition.verify.header)), "")


def _stamp_names(provider: Provider) -> tuple[str, ...]:
    return spelled(provider.definition.verify.stamp.header)[:1]


Change = Callable[[Case, Provider, random.Random], Case]
_OF_HEADERS: tuple[Change, ...] = (_missing, _stamp, _signature, _several)


def changes_of(provider: Provider) -> tuple[Change, ...]:
    """What can be done to a request of this sender."""
    return (_body, _secret, *(_OF_HEADERS if _signature_name(provider) else ()))
