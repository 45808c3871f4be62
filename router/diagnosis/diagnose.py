"""
Why a request is refused, found by proof where there is one: what would make its signature true.

Pure: a request, secrets and a time in; findings out. Bounded, but far too costly for the way of a
delivery. No finding holds a secret, a signature or a body.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from router.diagnosis.causes import ALTERED, DiagnosisFinding, clock, finding, key_fix
from router.diagnosis.originals import originals
from router.diagnosis.probe import Probe, SignatureReading
from router.diagnosis.rewriting import is_sorted
from router.diagnosis.secret_guesses import guesses
from router.model.delivery import REMOVED, InboundRequest, LiveSecret, Refused, Verified
from router.providers import hints
from router.providers.definition import SIGNATURES, VerifyRule, spelled
from router.providers.headers import Ambiguous, wire
from router.providers.provider import Provider
from router.providers.read import OddBodyError, decoded
from router.providers.scheme import spellings

HEADERS_MAX = 40
_ANY_AGE_S = 10**12


class OtherEndpoint(msgspec.Struct, frozen=True):
    """Another endpoint of the same file."""

    endpoint: str
    provider: Provider
    secrets: tuple[LiveSecret, ...]


class DiagnosisInput(msgspec.Struct, frozen=True):
    """
    What is known beside the request. `live` verify now, `ended` did so until their day; `known`
    are all senders. `came_ms` is when the request came, None if nobody knows; `tolerance_s` is
    the endpoint's own; `given` are secrets to try beside those of the file. Times in Unix
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

    @property
    def at_ms(self) -> int:
        """The time to verify the request at."""
        return self.now_ms if self.came_ms is None else self.came_ms


def diagnose(request: InboundRequest, case: DiagnosisInput) -> tuple[DiagnosisFinding, ...]:
    """
    What is wrong with a request, the cause that is proved first; never empty.

    Where nothing could be proved the findings are what may be the matter, and say so.
    """
    verdict = case.provider.verify(
        request, case.live, now_ms=case.at_ms, tolerance_s=case.tolerance_s
    )
    if case.unsigned or isinstance(verdict, Verified):
        return (finding("unsigned" if case.unsigned else "genuine", endpoint=case.endpoint),)
    broken = [f for f in (_unusable(s, case.provider) for s in case.live) if f]
    if not case.live:
        names = ", ".join(secret.name for secret in case.ended)
        broken.append(finding("secrets_ended" if names else "no_secret", names=names))
    if verdict.reason == "ambiguous_header":
        twice = spellings(case.provider.definition).collect(request.headers)
        return (
            *broken,
            finding("header_twice", header=twice.header if isinstance(twice, Ambiguous) else ""),
        )
    if _is_hidden(request, case.provider):
        return (*broken, finding("hidden"))
    if proved := _proved(request, case, verdict):
        return tuple(proved)
    return (*broken, *_suspected(request, case, verdict))


def _unusable(secret: LiveSecret, provider: Provider) -> DiagnosisFinding | None:
    verdict = provider.check_secret(secret.value)
    why = verdict.error or "unusable"
    fix = key_fix(why)
    return None if verdict.ok else finding("key_unusable", name=secret.name, why=why, fix=fix)


def _is_hidden(request: InboundRequest, provider: Provider) -> bool:
    """Has what proves the request been removed before it was kept?"""
    ways = [rule for rule in provider.definition.ways if not rule.signs_body]
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
    for search in searches:
        if found := search(request, case):
            return found
    return []


def _clock(request: InboundRequest, case: DiagnosisInput, verdict: Refused) -> DiagnosisFinding:
    stamps = [Probe(case.provider.definition, rule, request).timestamp_s for rule in _signed(case)]
    if (stamp := next((s for s in stamps if s is not None), None)) is None:
        return finding("token_expired", hint=verdict.hint or "the token has expired")
    return clock(case.at_ms - stamp * 1000, known=case.came_ms is not None)


def _signed(case: DiagnosisInput) -> list[VerifyRule]:
    return [rule for rule in case.provider.definition.ways if rule.scheme in SIGNATURES]


def _by_own_ways(request: InboundRequest, case: DiagnosisInput) -> list[DiagnosisFinding]:
    """The endpoint's own ways of proof, with whatever else would make them true."""
    for rule in _signed(case):
        probe = Probe(case.provider.definition, rule, request)
        for found in (_by_secret(probe, request, case), _by_body(probe, request, case)):
            if found:
                return found
    return []


def _secrets(case: DiagnosisInput) -> Iterator[tuple[LiveSecret, list[DiagnosisFinding]]]:
    """Every secret that may be the right one, and what is wrong if it is."""
    yield from ((secret, []) for secret in case.live)
    yield from ((secret, [finding("secret_ended", name=secret.name)]) for secret in case.ended)
    yield from ((secret, [finding("secret_other", name=secret.name)]) for secret in case.given)
    for other in case.others:
        found = [
            finding(
                "other_endpoint" if other.provider is case.provider else "secret_swapped",
                other=other.endpoint,
                endpoint=case.endpoint,
            )
        ]
        yield from ((secret, found) for secret in other.secrets)
    for secret in (*case.live, *case.ended, *case.given):
        for how, value in guesses(secret.value):
            found = [finding("secret_miscopied", name=secret.name, how=how)]
            yield LiveSecret(secret.name, value), found


def _by_secret(
    probe: Probe, request: InboundRequest, case: DiagnosisInput
) -> list[DiagnosisFinding]:
    for secret, wrong in _secrets(case):
        if (read := probe.fits(secret.value, request.body)) is not None:
            return [*wrong, *_misread(read)]
    return []


def _misread(read: SignatureReading) -> list[DiagnosisFinding]:
    return [] if read.how is None else [finding("signature_form", how=read.how)]


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
    """Tokens and passwords: which other secret, or which slip of it, is the one that was shown?"""
    if not any(not rule.signs_body for rule in case.provider.definition.ways):
        return []
    return next(
        (
            wrong
            for secret, wrong in _secrets(case)
            if wrong and _verifies(case.provider, request, (secret,))
        ),
        [],
    )


def _by_other_endpoints(request: InboundRequest, case: DiagnosisInput) -> list[DiagnosisFinding]:
    for other in case.others:
        if _verifies(other.provider, request, other.secrets):
            return [finding("other_endpoint", other=other.endpoint, endpoint=case.endpoint)]
    return []


def _by_other_senders(request: InboundRequest, case: DiagnosisInput) -> list[DiagnosisFinding]:
    for provider in {provider.name: provider for provider in case.known.values()}.values():
        if provider.definition.generic or provider.name == case.provider.name:
            continue
        if _verifies(provider, request, (*case.live, *case.ended, *case.given)):
            return [finding("other_provider", label=provider.label, name=provider.name)]
    return []


def _elsewhere(request: InboundRequest, case: DiagnosisInput) -> list[DiagnosisFinding]:
    """No signature where it is due: does another header hold it?"""
    for rule in _signed(case):
        probe = Probe(case.provider.definition, rule, request)
        for name, value in () if probe.text else request.headers[:HEADERS_MAX]:
            readings = probe.read(value)
            for secret in (*case.live, *case.ended, *case.given) if readings else ():
                if (read := probe.fits(secret.value, request.body, readings)) is not None:
                    return [finding("header_renamed", name=name.decode("latin-1")), *_misread(read)]
    return []


def _verifies(provider: Provider, request: InboundRequest, secrets: Sequence[LiveSecret]) -> bool:
    return isinstance(provider.verify(request, secrets, now_ms=0, tolerance_s=_ANY_AGE_S), Verified)


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
    for rule in _signed(case):
        missing = Probe(case.provider.definition, rule, request).missing
        if missing and verdict.reason == "missing_header":
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
    for provider in case.known.values():
        if not provider.definition.generic and names & _proofs(provider):
            return provider
    return None


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
    for name, value in request.headers:
        if name == b"content-length" and value.isdigit() and len(value) < 12:
            return int(value)
    return None
