"""What was to prove a request and is published elsewhere: could it be had, and if not, why?"""

from collections.abc import Iterable, Iterator, Mapping

from router.diagnosis.causes import DiagnosisFinding, finding
from router.model.delivery import Refused
from router.model.fetched import Fetched
from router.providers.introspected import NOT_ANSWERED
from router.providers.provider import Provider
from router.providers.waiting import UNKNOWN_KEY, Introspection, PublishedKey, Verdict, Waiting

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
