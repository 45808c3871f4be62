"""The check-up of `router doctor`: every check of the file and of its endpoints, in order."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from router.actions.resolve import system_lookup
from router.cli import doctor_offline as offline
from router.cli import doctor_online as online
from router.cli.doctor_check import Check, as_json, of_endpoint, print_checks, problems, unknown
from router.cli.doctor_offline import of_targets
from router.cli.doctor_online import EndpointHistory, ServerStatus, of_database
from router.cli.generations import read_store
from router.cli.options import Options, addressed
from router.cli.output import printed
from router.clock import SystemClock
from router.errors import StoreRefused, StoreUnavailable
from router.model.settings import Endpoint
from router.model.store_address import PostgresDatabase
from router.model.subscription import FACTS
from router.rules.ruleset import Ruleset
from router.store.reads import StoreReads
from router.wiring.dev import DevFile
from router.wiring.management import ranges_at


def has_problems(place: Options, name: str | None, *, offline: bool) -> bool:
    """Check the endpoint of this name (None: all), print what was found; True: problems."""
    checks = list(_check_up(place, name, alone=offline))
    if not printed(as_json(checks), as_json=place.as_json):
        print_checks(checks, str(place.rules))
    return problems(checks) > 0


def _check_up(place: Options, name: str | None, *, alone: bool) -> Iterator[Check]:
    """`alone`: no server is called."""
    loaded = place.loaded()
    yield offline.of_file(loaded, str(place.rules))
    if loaded.ruleset is None:
        return
    found, ruleset = place.beside()
    endpoints = [addressed(ruleset, name)] if name else list(ruleset.addressed.values())
    server = None if alone else online.ask_server(found, ruleset)
    if server is None or server.status is None:
        # What is left of a server of development says nothing of what `serve` would need.
        found = msgspec.structs.replace(found, dev=place.dev)
    yield offline.of_base_url(ruleset.server.base_url, dev=found.dev)
    here = not alone and place.server is None
    yield from asyncio.run(of_targets(ruleset, system_lookup if here else None))
    if server is not None:
        yield from _with_server(found, ruleset, endpoints, server)
        return
    yield unknown("server", "--offline makes no calls", "leave --offline out")
    for endpoint in endpoints:
        yield from of_endpoint(endpoint.name, _of_file(found, ruleset, endpoint))


def _of_file(
    place: Options, ruleset: Ruleset, endpoint: Endpoint, *, running: bool = False
) -> Iterator[Check]:
    yield from offline.of_secrets(
        ruleset,
        endpoint,
        place.environ,
        DevFile.load(DevFile.path_for(place.rules)) if place.dev else None,
        SystemClock().now(),
        running=running and not place.dev,
    )
    yield from offline.of_senders(ruleset, endpoint)
    yield from offline.of_events(ruleset, endpoint)
    yield from offline.of_version(ruleset, endpoint)


def _with_server(
    place: Options, ruleset: Ruleset, endpoints: Sequence[Endpoint], server: ServerStatus
) -> Iterator[Check]:
    yield from online.of_server(server, ruleset, here=place.server is None)
    if place.server is None:
        yield from of_database(ruleset.server.store)
    histories, facts, unread = _stored(place, ruleset, endpoints)
    reached = asyncio.run(online.of_addresses(ruleset, endpoints))
    keeping = place.dev or ruleset.server.keep_refused

    def checks(endpoint: Endpoint, history: EndpointHistory) -> Iterator[Check]:
        yield from _of_file(place, ruleset, endpoint, running=server.status is not None)
        yield from reached[endpoint.name]
        yield from online.of_ranges(server, endpoint, ranges_at(ruleset, endpoint))
        yield from online.of_keys(server, ruleset.providers[endpoint.provider])
        if unread is None:
            yield from online.of_subscriptions(ruleset, endpoint, facts)
            yield from online.of_deliveries(history, endpoint, SystemClock().now())
            yield from online.of_topics(history, endpoint, ruleset.providers[endpoint.provider])
        else:
            yield unread
        yield from online.of_refusals(server, endpoint, history, keeping=keeping)

    for endpoint in endpoints:
        yield from of_endpoint(endpoint.name, checks(endpoint, histories[endpoint.name]))


class _Stored(NamedTuple):
    """
    What the store has of each endpoint, and the subscriptions made from here; or why it is
    `unread`.
    """

    histories: dict[str, EndpointHistory]
    facts: dict[str, Any]
    unread: Check | None = None


def _stored(place: Options, ruleset: Ruleset, endpoints: Sequence[Endpoint]) -> _Stored:
    absent = _Stored({endpoint.name: EndpointHistory() for endpoint in endpoints}, {})
    address = ruleset.server.store
    if place.server is not None:
        says = "the store of a server elsewhere is not read"
        return absent._replace(unread=unknown("heard", says, "run this beside the server"))

    async def read(reader: StoreReads) -> _Stored:
        kept = {e.name: await online.history_of(reader, ruleset, e) for e in endpoints}
        return _Stored(kept, dict(await reader.recall(FACTS)))

    try:
        return read_store(address, read, absent=absent)
    except (StoreRefused, StoreUnavailable):
        if not isinstance(address, PostgresDatabase):
            raise
        return absent._replace(unread=unknown("heard", "the database cannot be read"))
