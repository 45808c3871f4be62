"""
Why a request is refused, found by proof where there is one: what would make its signature true.

Pure: a request, secrets and a time in; findings out. Bounded, but far too costly for the way of a
delivery. No finding holds a secret, a signature or a body.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from router.diagnosis.causes import ALTERED, DiagnosisFinding, clock, finding, key_fix
from router.diagnosis.originals import guesses, originals
from router.diagnosis.probe import Probe, SignatureReading, known_senders, verifies
from router.diagnosis.rewriting import is_sorted
from router.model.delivery import REMOVED, InboundRequest, LiveSecret, Refused, Verified
from router.model.fetched import Fetched
from router.model.odd_body import OddBodyError
from router.providers import hints
from router.providers.definition import SIGNATURES, spelled
from router.providers.evidence import Evidence
from router.providers.handshakes import HandshakeAnswer
from router.providers.headers import Ambiguous, wire
from router.providers.introspected import NOT_ANSWERED
from router.providers.provider import Provider
from router.providers.read import decoded
from router.providers.scheme import spellings
from router.providers.waiting import (
    UNKNOWN_KEY,
    Introspection,
    PublishedKey,
    Verdict,
    Waiting,
    without_asking,
)

HEADERS_MAX = 40


class OtherEndpoint(msgspec.Struct, frozen=True):
    """Another endpoint of the same file."""

    endpoint: str
    provider: Provider
    secrets: tuple[LiveSecret, ...]


class DiagnosisInput(msgspec.Struct, frozen=True):
    """
    What is known beside the request. `live` verify now, `ended` did so until their day; `known`
    are all senders. `came_ms` is when the request came, None if nobody knows; `tolerance_s` is
    the endpoint's own; `given` are secrets to try beside those of the file. `reason` is what the
    router refused it for, None if nobody says; `fetched` how its fetches go. Times in Unix
    milliseconds.
    """

    endpoint: str
    provider: Provider
    live: tuple[LiveSecret, ...]
    now_ms: int
    ended: tuple[LiveSecret, ...] = ()
    others: tuple[OtherEndpoint, ...] = ()
    known: Mapping[str, Provider] = {}
    came_ms: int | None = None
    tolerance_s: int | None = None
    unsigned: bool = False
    given: tuple[LiveSecret, ...] = ()
    reason: str | None = None
    fetched: Mapping[str, Fetched] = {}

    @property
    def at_ms(self) -> int:
        """The time to verify the request at."""
        return self.now_ms if self.came_ms is None else self.came_ms


def diagnose(request: InboundRequest, case: DiagnosisInput) -> tuple[DiagnosisFinding, ...]:
    """
    What is wrong with a request, the cause that is proved first; never empty.

    Where nothing could be proved the findings are what may be the matter, and say so.
    """
    if asked := _asked(request, case):
        return (asked,)
    waiting = case.provider.judge(
        request, case.live, now_ms=case.at_ms, tolerance_s=case.tolerance_s
    )
    verdict = without_asking(waiting)
    if case.unsigned or isinstance(verdict, Verified):
        return (finding("unsigned" if case.unsigned else "genuine", endpoint=case.endpoint),)
    checked = [(s.name, case.provider.check_secret(s.value)) for s in case.live]
    whys = {name: found.error or "unusable" for name, found in checked if not found.ok}
    broken = [finding("key_unusable", name=n, why=w, fix=key_fix(w)) for n, w in whys.items()]
    if not case.live and not case.provider.keyless:
        names = ", ".join(secret.name for secret in case.ended)
        broken.append(finding("secrets_ended" if names else "no_secret", names=names))
    if verdict.reason == "ambiguous_header":
        twice = spellings(case.provider.definition).collect(request.headers)
        return (
            *broken,
            finding("header_twice", header=twice.header if isinstance(twice, Ambiguous) else ""),
        )
    lacking = not_had(case.provider, waiting, case.reason, case.fetched)
    if lacking and case.reason is None:
        lacking = list(_odd_body(request)) or lacking
    if lacking or _is_hidden(request, case.provider):
        return (*broken, *(lacking or [finding("hidden")]))
    if proved := _proved(request, case, verdict):
        return tuple(proved)
    return (*broken, *_suspected(request, case, verdict))


def _asked(request: InboundRequest, case: DiagnosisInput) -> DiagnosisFinding | None:
    """What is the matter with a handshake; None: it is a delivery."""
    if request.method not in case.provider.admits:
        return None
    found = case.provider.unproved(request, case.live)
    if found is None:
        return None
    if isinstance(found, HandshakeAnswer):
        return finding("handshake_answered", endpoint=case.endpoint)
    if found.reason == "bad_token" and REMOVED.encode("ascii") in request.query_string:
        return finding("hidden")
    if found.reason in ("bad_token", "no_secret"):
        return finding("handshake_token" if case.live else "no_secret", endpoint=case.endpoint)
    why = found.hint or found.reason
    return finding("handshake_unknown", why=why, provider=case.provider.name)


def _is_hidden(request: InboundRequest, provider: Provider) -> bool:
    """Has what proves the request been removed before it was kept?"""
    ways = [rule for rule in provider.definition.ways if rule.shows_secret]
    places = {wire(name) for rule in ways for name in spelled(rule.place)}
    removed = REMOVED.encode("ascii")
    in_query = any(rule.query is not None for rule in ways) and removed in request.query_string
    return in_query or any(n in places and v == removed for n, v in request.headers)


# -- what is proved -------------------------------------------------------------------------------


def _proved(
    request: InboundRequest, case: DiagnosisInput, verdict: Refused
) -> list[DiagnosisFinding]:
    if verdict.reason in ("stale_timestamp", "expired_token"):
        return [_clock(request, case, verdict)]
    searches = (_by_own_ways, _by_shown_secret, _by_other_endpoints, _by_other_senders, _elsewhere)
    return next(filter(None, (search(request, case) for search in searches)), [])


def _clock(request: InboundRequest, case: DiagnosisInput, verdict: Refused) -> DiagnosisFinding:
    stamps = [probe.timestamp_s for probe in _probes(request, case)]
    if (stamp := next((s for s in stamps if s is not None), None)) is None:
        return finding("token_expired", hint=verdict.hint or "the token has expired")
    return clock(case.at_ms - stamp * 1000, known=case.came_ms is not None)


def _probes(request: InboundRequest, case: DiagnosisInput) -> Iterator[Probe]:
    """Of the endpoint's own ways of proof those that sign."""
    definition = case.provider.definition
    signed = (rule for rule in definition.ways if rule.scheme in SIGNATURES)
    return (Probe(definition, rule, request) for rule in signed)


def _by_own_ways(request: InboundRequest, case: DiagnosisInput) -> list[DiagnosisFinding]:
    """The endpoint's own ways of proof, with whatever else would make them true."""
    found = (
        _by_secret(probe, request, case)
        or _by_address(probe, request, case)
        or _by_body(probe, request, case)
        for probe in _probes(request, case)
    )
    return next(filter(None, found), [])


def _secrets(case: DiagnosisInput) -> Iterator[tuple[LiveSecret, list[DiagnosisFinding]]]:
    """Every secret that may be the right one, and what is wrong if it is."""
    yield from ((secret, []) for secret in case.live)
    yield from ((secret, [finding("secret_ended", name=secret.name)]) for secret in case.ended)
    yield from ((secret, [finding("secret_other", name=secret.name)]) for secret in case.given)
    for other in case.others:
        cause = "other_endpoint" if other.provider is case.provider else "secret_swapped"
        wrong = finding(cause, other=other.endpoint, endpoint=case.endpoint)
        yield from ((secret, [wrong]) for secret in other.secrets)
    for secret in (*case.live, *case.ended, *case.given):
        for how, value in guesses(secret.value):
            wrong = finding("secret_miscopied", name=secret.name, how=how)
            yield LiveSecret(secret.name, value), [wrong]


def _by_secret(
    probe: Probe, request: InboundRequest, case: DiagnosisInput
) -> list[DiagnosisFinding]:
    for secret, wrong in _secrets(case):
        if (read := probe.fits(secret.value, request.body)) is not None:
            return [*wrong, *_misread(read)]
    return []


def _misread(read: SignatureReading) -> list[DiagnosisFinding]:
    return [] if read.how is None else [finding("signature_form", how=read.how)]


def _by_address(
    probe: Probe, request: InboundRequest, case: DiagnosisInput
) -> list[DiagnosisFinding]:
    """Another address was signed than the one that we believe the sender was told."""
    if not probe.signs_url:
        return []
    for url in hints.addresses(request):
        told = probe.at(url)
        for secret, wrong in _secrets(case):
            if (read := told.fits(secret.value, request.body)) is not None:
                ours = (Evidence({}, request).url or b"none").decode("latin-1")
                says = {"url": url, "told": ours, "endpoint": case.endpoint}
                return [finding("address_told", **says), *wrong, *_misread(read)]
    return []


def _by_body(probe: Probe, request: InboundRequest, case: DiagnosisInput) -> list[DiagnosisFinding]:
    """Something else was signed than came: with which body is the signature true?"""
    if not probe.readings:
        return []
    likely = [(s, t) for s, t in _secrets(case) if not (t and t[0].code == "secret_miscopied")]
    for original in originals(request.body, content_length(request)):
        for secret, wrong in likely:
            if (read := probe.fits(secret.value, original.body)) is not None:
                return [finding(ALTERED[original.kind], how=original.how), *wrong, *_misread(read)]
    if request.body and any(probe.fits(s.value, b"") for s, _ in likely):
        return [finding("empty_signed")]
    return []


def _by_shown_secret(request: InboundRequest, case: DiagnosisInput) -> list[DiagnosisFinding]:
    """Which other secret, or slip of it, was shown as it is, or proves each item of a list?"""
    ways = case.provider.definition.ways
    if not any(rule.shows_secret or rule.each is not None for rule in ways):
        return []
    return next(
        (
            wrong
            for secret, wrong in _secrets(case)
            if wrong and verifies(case.provider, request, (secret,))
        ),
        [],
    )


def _by_other_endpoints(request: InboundRequest, case: DiagnosisInput) -> list[DiagnosisFinding]:
    found = (
        [finding("other_endpoint", other=other.endpoint, endpoint=case.endpoint)]
        for other in case.others
        if verifies(other.provider, request, other.secrets)
    )
    return next(found, [])


def _by_other_senders(request: InboundRequest, case: DiagnosisInput) -> list[DiagnosisFinding]:
    others = {p.name: p for p in case.known.values() if p.name != case.provider.name}.values()
    found = known_senders(request, (*case.live, *case.ended, *case.given), others)
    return [finding("other_provider", label=p.label, name=p.name) for p in found[:1]]


def _elsewhere(request: InboundRequest, case: DiagnosisInput) -> list[DiagnosisFinding]:
    """No signature where it is due: does another header hold it?"""
    for probe in _probes(request, case):
        for name, value in () if probe.text else request.headers[:HEADERS_MAX]:
            readings = probe.read(value)
            for secret in (*case.live, *case.ended, *case.given) if readings else ():
                if (read := probe.fits(secret.value, request.body, readings)) is not None:
                    return [finding("header_renamed", name=name.decode("latin-1")), *_misread(read)]
    return []


# -- what is only suspected -----------------------------------------------------------------------


def _suspected(
    request: InboundRequest, case: DiagnosisInput, verdict: Refused
) -> list[DiagnosisFinding]:
    found = [*_odd_body(request)]
    if verdict.reason in ("missing_signature", "malformed_signature", "missing_header"):
        found = [*_odd_headers(request, case, verdict), *found]
    elif not found:
        found.append(finding("secret_wrong", names=", ".join(s.name for s in case.live) or "none"))
    return list(dict.fromkeys(found))  # two ways of proof may miss the same header


def _odd_headers(
    request: InboundRequest, case: DiagnosisInput, verdict: Refused
) -> Iterator[DiagnosisFinding]:
    if (other := _look_alike(request, case)) is not None:
        yield finding("looks_like_other", label=other.label, name=other.name)
        return
    for probe in _probes(request, case):
        if (missing := probe.missing) and verdict.reason == "missing_header":
            yield finding("header_missing", names=", ".join(missing))
    if verdict.reason == "missing_signature":
        places = [name for rule in case.provider.definition.ways for name in spelled(rule.place)]
        yield finding(
            "signature_missing",
            places=" or ".join(dict.fromkeys(places)),
            hint=verdict.hint or "",
        )
    elif verdict.reason == "malformed_signature":
        yield finding("signature_malformed", hint=verdict.hint or "")


def _look_alike(request: InboundRequest, case: DiagnosisInput) -> Provider | None:
    """A sender whose proof came, where ours did not."""
    names = {name for name, _ in request.headers}
    if names & _proofs(case.provider):
        return None
    likely = (p for p in case.known.values() if not p.definition.generic and names & _proofs(p))
    return next(likely, None)


def _proofs(provider: Provider) -> set[bytes]:
    places = (name for rule in provider.definition.ways for name in spelled(rule.place))
    return {wire(name) for name in places} - {b"authorization"}


def _odd_body(request: InboundRequest) -> Iterable[DiagnosisFinding]:
    body, announced = request.body, content_length(request)
    if announced is not None and announced > len(body):
        yield finding("body_truncated", size=len(body), announced=announced)
    elif _is_broken_json(body):
        yield finding("cut_short", size=len(body))
    if not body:
        yield finding("body_lost")
    encodings = {v.strip().lower() for n, v in request.headers if n == b"content-encoding"}
    if encodings - {b"", b"identity"} or body[:2] == b"\x1f\x8b":
        yield finding("body_encoded")
    if b"\xef\xbf\xbd" in body:
        yield finding("charset_lost")
    if len(body) <= hints.BODY_MAX and is_sorted(body):
        yield finding("keys_sorted")


def _is_broken_json(body: bytes) -> bool:
    if len(body) > hints.BODY_MAX or body.lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        decoded(body)
    except OddBodyError:
        return True
    return False


def content_length(request: InboundRequest) -> int | None:
    """What the request announces; None for nothing usable."""
    announced = (value for name, value in request.headers if name == b"content-length")
    return next((int(value) for value in announced if value.isdigit() and len(value) < 12), None)


_WAITED = (UNKNOWN_KEY, NOT_ANSWERED)


def not_had(
    provider: Provider, verdict: Verdict, reason: str | None, fetched: Mapping[str, Fetched]
) -> list[DiagnosisFinding]:
    """
    Causes, if a request's verdict waits for what is not here; none if it does not.

    `reason` is what the router refused it for, None if nobody says; `fetched` how the running
    router's fetches go, by address.
    """
    asks = dict[str, str]()
    while isinstance(verdict, Waiting):
        if isinstance(verdict.ask, PublishedKey):
            asks[verdict.ask.address] = verdict.ask.kind
        elif isinstance(verdict.ask, Introspection):
            asks[verdict.ask.url] = "token issuer"
        verdict = verdict.then(None)
    if reason is not None and reason not in _WAITED:
        return []
    if isinstance(verdict, Refused) and verdict.reason in _WAITED:
        return list(_each(asks.items(), reason, fetched))
    # What was kept of it does not hold the token, so that nothing waits.
    return [] if reason is None else list(_each(_named(provider), reason, fetched))


def _named(provider: Provider) -> Iterator[tuple[str, str]]:
    yield from ((address, "key set") for address in provider.publishes)
    yield from ((address, "token issuer") for address in provider.claims)


def _each(
    asked: Iterable[tuple[str, str]], reason: str | None, fetched: Mapping[str, Fetched]
) -> Iterator[DiagnosisFinding]:
    for address, kind in asked:
        found = fetched.get(address)
        name = "issuer" if kind == "token issuer" else "key"
        if found is not None and found.failure is not None:
            yield finding(f"{name}_failed", what=kind, address=address, why=found.failure)
        elif found is not None and found.at is not None and reason is not None:
            yield finding(f"{name}_later", what=kind, address=address)
        else:
            yield finding(f"{name}_not_here", what=kind, address=address)
