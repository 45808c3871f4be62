"""What `router doctor` finds at the running server, in its store or database, and on the way."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec

from router.cli.admin import AdminClient
from router.cli.doctor_check import Check, ok, problem, unknown
from router.cli.doctor_offline import to_select
from router.cli.options import Options
from router.cli.output import timestamp
from router.cli.subscription_plan import address_for, topics_of_rules
from router.cli.wanted_events import events_of, wanted
from router.clock import SystemClock
from router.diagnosis.probe import Probe
from router.egress import listens_locally
from router.errors import StoreAbsent, StoreRefused, StoreUnavailable
from router.legible import span
from router.model.delivery import DeliverySummary, as_request
from router.model.fetched import Fetched
from router.model.patterns import wants_event
from router.model.settings import PUBLISHED, Endpoint
from router.model.store_address import PostgresDatabase, StoreAddress
from router.model.subscription import Subscription, subscriptions
from router.operator.answers import ServerState
from router.provider_calls import reachability
from router.providers.allowed_hosts import is_allowed
from router.providers.provider import Provider
from router.refusals import KEPT_MAX
from router.rules.ruleset import Ruleset
from router.serving import store_time
from router.serving.quiet_endpoints import FACTS, newest_of
from router.store.database_about import DatabaseAbout
from router.store.reads import StoreReads
from router.store.values import Selector

LOOKED_AT = 200
EVENTS_LOOKED_AT = 1_000
PATTERNS_MAX = 20
NAMES_SHOWN = 8
SKEW_MS = 60_000
ADDRESSES_AT_ONCE = 8


class ServerStatus(msgspec.Struct, frozen=True):
    """
    What the running server answers; `status` None: it does not, `trouble` says why. The refusals
    are its own, not those of other routers of its database.
    """

    status: ServerState | None
    refusals: tuple[dict[str, Any], ...] = ()
    trouble: str | None = None


def ask_server(place: Options, ruleset: Ruleset) -> ServerStatus:
    """What the admin API of the running server answers."""
    try:
        with AdminClient.of(place, ruleset) as client:
            return ServerStatus(client.status(), tuple(client.refusals(500).refusals))
    except click.ClickException as error:
        return ServerStatus(None, trouble=error.message)


def of_server(server: ServerStatus, ruleset: Ruleset, *, here: bool = True) -> Iterator[Check]:
    """Does a server run, with this file? `here`: it is to run the file that we read."""
    status = server.status
    if status is None:
        yield problem(
            "server",
            server.trouble or "it does not answer",
            "start it: `router serve`; or name its admin address with --admin or --server",
        )
    elif not status.reload.ok:
        first = (status.reload.error or "").partition("\n")[0]
        yield problem(
            "server",
            f"it runs with older rules, for the file could not be loaded: {first}",
            "`router check`, mend the file; it is read again by itself",
        )
    elif here and status.generation != ruleset.generation:
        yield problem(
            "server",
            "it runs with other rules than this file has (or other variables)",
            "is it the right file (-f)? else restart it",
        )
    else:
        yield ok("server", f"runs since {timestamp(status.started_at)}, with this file")


# -- the way from here ----------------------------------------------------------------------------


async def of_addresses(ruleset: Ruleset, endpoints: Sequence[Endpoint]) -> dict[str, list[Check]]:
    """Does every address that senders get lead to this router? One request to each."""
    base = urlsplit(ruleset.server.base_url)
    turn = asyncio.Semaphore(ADDRESSES_AT_ONCE)
    port = urlsplit(ruleset.server.local_url).port
    elsewhere = listens_locally(f"{base.hostname}:0") and base.port != port

    async def one(endpoint: Endpoint, address: str) -> Check:
        url = f"{base.scheme}://{base.netloc}{address}"
        async with turn, reachability.client(url, ruleset.server.egress_allow) as http:
            seen = await reachability.look(http, url, method=_method(ruleset, endpoint))
        judged = reachability.judge(seen)
        says, fix = f"{url}: {judged.says}", judged.fix or ""
        if elsewhere and seen.trouble == "nobody":
            fix = f"this router listens on port {port}: leave `server.base_url` out, or mend it"
        return ok("address", says) if judged.ok else problem("address", says, fix)

    async def all_of(endpoint: Endpoint) -> list[Check]:
        return await asyncio.gather(*[one(endpoint, a) for a in endpoint.addresses])

    found = await asyncio.gather(*map(all_of, endpoints))
    return {e.name: checks for e, checks in zip(endpoints, found, strict=True)}


def _method(ruleset: Ruleset, endpoint: Endpoint) -> str:
    """POST, unless that would be let in: a method that no delivery has proves as much."""
    provider = ruleset.providers[endpoint.provider]
    if not endpoint.unsigned and "POST" in provider.admits:
        return "POST"
    return next(m for m in ("DELETE", "PATCH", "OPTIONS") if m not in provider.admits)


# -- the store ------------------------------------------------------------------------------------


class EndpointHistory(msgspec.Struct, frozen=True):
    """
    What the store has of one endpoint: its newest deliveries, when the last one came (or since
    when one is awaited), which of the events that rules name it has, and how long after its
    signature the newest came.
    """

    newest: tuple[DeliverySummary, ...] = ()
    last: int | None = None
    since: int | None = None
    events: Mapping[str, bool] = {}
    skew_ms: int | None = None


async def history_of(reader: StoreReads, ruleset: Ruleset, endpoint: Endpoint) -> EndpointHistory:
    """What the store has of it."""
    newest = await reader.deliveries(Selector(endpoint=endpoint.name, limit=LOOKED_AT))
    return EndpointHistory(
        newest,
        await newest_of(reader, endpoint.name),
        ((await reader.recall(FACTS)).get(FACTS + endpoint.name) or {}).get("since"),
        {
            pattern: await _has_come(reader, endpoint.name, pattern)
            for pattern in wanted(ruleset, endpoint).patterns[:PATTERNS_MAX]
        },
        await _skew(reader, ruleset.providers[endpoint.provider], newest),
    )


async def _has_come(reader: StoreReads, endpoint: str, pattern: str) -> bool:
    """Does the store hold an event of a pattern, as the event's name or with its action?"""
    names = [pattern, pattern.rpartition(".")[0] or pattern]
    for name in dict.fromkeys([None] if "*" in pattern else names):
        chosen = Selector(endpoint=endpoint, event=name, limit=EVENTS_LOOKED_AT)
        if any(wants_event((pattern,), e.name, e.action) for e in await reader.events(chosen)):
            return True
    return False


async def _skew(
    reader: StoreReads, provider: Provider, newest: Sequence[DeliverySummary]
) -> int | None:
    """How long after its signed time the newest delivery came, where a time is signed."""
    record = await reader.delivery(newest[0].id) if newest else None
    if record is None:
        return None
    request, definition = as_request(record.delivery), provider.definition
    signed = [rule for rule in definition.ways if rule.signs_body]
    stamps = (Probe(definition, rule, request).timestamp_s for rule in signed)
    return next((request.received_at - s * 1000 for s in stamps if s is not None), None)


def of_deliveries(kept: EndpointHistory, endpoint: Endpoint, now_ms: int) -> Iterator[Check]:
    """Did the last delivery come lately, by the version and the clock that are expected?"""
    yield _last(kept, endpoint, now_ms)
    odd = sum("api_version" in d.flags for d in kept.newest)
    if odd:
        yield problem(
            "versions",
            f"{odd} of the last {len(kept.newest)} deliveries have another API version",
            "`router deliveries --endpoint` lists them; update the sender's, or `api_version` here",
        )
    if kept.skew_ms is not None:
        yield _clock(kept.skew_ms)


def _last(kept: EndpointHistory, endpoint: Endpoint, now_ms: int) -> Check:
    expected = endpoint.expect_every
    waiting = kept.since if kept.last is None else kept.last
    if expected is not None and waiting is not None and now_ms - waiting > expected:
        return problem(
            "heard",
            f"nothing for {span(now_ms - waiting)}, more than {span(expected)} (`expect_every`)",
            "look whether the sender has switched the webhook off (many do after failures), and "
            "at its list of recent deliveries",
        )
    if kept.last is None:
        return unknown(
            "heard",
            "nothing has come yet",
            f"have the sender send a test, or try `router send {endpoint.name} EVENT`",
        )
    return ok("heard", f"the last delivery came {span(now_ms - kept.last)} ago")


def _clock(skew_ms: int) -> Check:
    if skew_ms < -SKEW_MS:
        return problem(
            "clock",
            f"the newest delivery was signed {span(-skew_ms)} after it came: our clock is slow",
            "keep this machine's clock by NTP",
        )
    if skew_ms > SKEW_MS:
        return unknown(
            "clock",
            f"the newest delivery came {span(skew_ms)} after it was signed",
            "a redelivery may do that; else our clock is fast: keep it by NTP",
        )
    return ok("clock", f"agrees with the sender's within {span(SKEW_MS)}")


def of_topics(kept: EndpointHistory, endpoint: Endpoint, provider: Provider) -> Iterator[Check]:
    """Which events that rules name are not in the store? Perhaps a scope is missing for them."""
    never = [name for name, came in kept.events.items() if not came]
    if not never:
        if kept.events:
            yield ok("topics", "every event that rules name has come")
        return
    says = f"not among the stored events: {', '.join(never)}"
    others = list(dict.fromkeys(name for d in kept.newest for name in d.events))
    if others and not any(kept.events.values()):
        says += f" (the last events: {', '.join(others[:NAMES_SHOWN])})"
    fix = "if they happen there: select them in the sender's settings"
    if provider.has_versions:
        first = next(iter(events_of(provider, never[0])), never[0])
        fix = (
            "if they happen there: a missing access scope or permission, or another API version; "
            f"`router subscriptions test {endpoint.name} {first}` asks for a test notification"
        )
    yield unknown("topics", says, fix)


# -- subscriptions, ranges ------------------------------------------------------------------------


def of_subscriptions(
    ruleset: Ruleset, endpoint: Endpoint, facts: Mapping[str, Any]
) -> Iterator[Check]:
    """What was subscribed from here, against what the rules want."""
    provider = ruleset.providers[endpoint.provider]
    rule = provider.definition.api
    if rule is None or rule.subscribe is None:
        selected = to_select(wanted(ruleset, endpoint), provider)
        yield unknown(
            "subscription",
            f"{provider.label} is subscribed to in its settings, which no call shows",
            f"compare there: the address of `router addresses`; {selected}",
        )
        return
    mine = [r for r in subscriptions(facts).values() if r.endpoint == endpoint.name]
    fix = f"`router subscriptions create {endpoint.name} --from-rules --dry-run` shows a plan"
    if mine:
        yield from _against(ruleset, endpoint, mine, fix)
    else:
        yield unknown("subscription", "nothing was subscribed from here (perhaps by hand)", fix)


def _against(
    ruleset: Ruleset, endpoint: Endpoint, mine: Sequence[Subscription], fix: str
) -> Iterator[Check]:
    if unsure := sorted({r.topic for r in mine if r.state != "made"}):
        yield problem(
            "subscription",
            f"requested, and no answer came: {', '.join(unsure)}",
            "look in the shop's admin whether it is there; `create --again` requests it again",
        )
    names, _ = topics_of_rules(ruleset, endpoint)
    here = {r.topic for r in mine if r.address == address_for(ruleset, endpoint, r.topic)}
    if elsewhere := sorted({r.topic for r in mine} - here):
        says = f"subscribed for another address than base_url gives now: {', '.join(elsewhere)}"
        yield problem("subscription", says, fix)
    elif missing := [name for name in names if name not in here]:
        says = f"wanted by rules, not subscribed from here: {', '.join(missing)}"
        yield problem("subscription", says, fix)
    elif not unsure:
        yield ok("subscription", f"{len(here)} topics, made from here")


def of_ranges(server: ServerStatus, endpoint: Endpoint, base: str | None) -> Iterator[Check]:
    """Are the address ranges that the sender publishes known?"""
    if PUBLISHED not in endpoint.allow_from or server.status is None:
        return
    at = None if base is None else server.status.ranges.get(base)
    if at is None:
        yield problem(
            "ranges",
            f"the address ranges of {base} are not known yet: every delivery gets 503"
            + _why(server.status.fetched.get(base or "")),
            "have this machine reach that address; it is asked again by itself",
        )
    else:
        yield ok("ranges", f"as {base} published them, fetched {timestamp(at)}")


def of_keys(server: ServerStatus, provider: Provider) -> Iterator[Check]:
    """How do the fetches of what proves the sender's deliveries go?"""
    fetched = {} if server.status is None else server.status.fetched
    for address, found in fetched.items():
        chosen = found.kind == "certificate" and is_allowed(address, provider.certificate_hosts)
        if chosen or address in provider.publishes or address in provider.claims:
            yield _of_key(address, found)


def _of_key(address: str, found: Fetched) -> Check:
    what = f"the {found.kind} at {address}"
    if found.failure is not None:
        lasts = found.at and found.kind != "token issuer"
        still = f"; it is in force as fetched {timestamp(found.at)}" if lasts else ""
        fix = "have this machine reach that address and get what it should; it is asked again"
        return problem("keys", f"{what} cannot be had{_why(found)}{still}", fix)
    if found.at is None:
        fix = "it is being fetched; until then every delivery gets 503"
        return problem("keys", f"{what} is not known yet", fix)
    return ok("keys", f"{what} answered {timestamp(found.at)}")


def _why(found: Fetched | None) -> str:
    return "" if found is None or found.failure is None else f": {found.failure}"


# -- refusals -------------------------------------------------------------------------------------


def of_refusals(
    server: ServerStatus, endpoint: Endpoint, kept: EndpointHistory, *, keeping: bool
) -> Iterator[Check]:
    """Was a request refused since the last delivery? `keeping`: refused ones are kept whole."""
    since = kept.last or 0
    mine = [
        r
        for r in server.refusals
        if r.get("endpoint") == endpoint.name and int(r.get("at") or 0) > since
    ]
    if not mine:
        if server.status is not None:
            yield ok("refusals", "this router refused none since the last delivery")
        return
    newest = mine[0]
    hint = f": {newest['hint']}" if newest.get("hint") else ""
    says = f"{len(mine)} refused since the last delivery, the newest {newest['reason']}{hint}"
    whole = [r["kept"] for r in server.refusals if r.get("kept")][:KEPT_MAX]
    found = next((r["kept"] for r in mine if r.get("kept") in whole), None)
    fix = "`router deliveries --refused` lists them; none of them is kept whole"
    if found is not None:
        fix = f"`router doctor {endpoint.name} --refused {found}` finds the cause"
    elif newest["reason"] in _PLAIN:
        fix = _PLAIN[newest["reason"]]
    elif not keeping:
        fix = (
            "`router deliveries --refused` lists them; with `server: {refusals: {bodies: true}}` "
            "the next one is kept, and `--refused last` finds its cause; or capture one: --request"
        )
    yield problem("refusals", says, fix)


_PLAIN = {
    "method_not_allowed": "the sender must use POST; a redirect before the router turns it into "
    "GET: give the sender the final address",
    "too_large": "the body is larger than this sender's may be: `router providers` says how large",
    "unsupported_encoding": "a proxy on the way compresses bodies so: by gzip or deflate it may",
    "address_not_allowed": "compare `allow_from` with the addresses that the sender uses",
    "ranges_unknown": "`ranges` above says why the sender's ranges cannot be fetched",
    "unknown_key": "`keys` above says what could not be fetched, and why; the sender tries again",
    "not_answered": "`keys` above says why the token's issuer gave no answer",
    "proof_busy": "the token's issuer is asked about eight tokens at a time, two for one address: "
    "name proxies in `trusted_proxies`, or senders in `allow_from`; the sender tries again",
}
"""Refusals whose reason is the cause, and which are never kept whole."""


# -- the database that routers share ---------------------------------------------------------------


def of_database(address: StoreAddress) -> Iterator[Check]:
    """
    Can a router work on it, does it keep what was acknowledged, and has it the time that we have?
    Of a file nothing is asked.
    """
    if not isinstance(address, PostgresDatabase):
        return
    from router.wiring.stores import about_database

    try:
        found = asyncio.run(about_database(address))
    except StoreAbsent as error:
        yield unknown("database", str(error), "`router serve` makes its tables")
    except StoreRefused as error:
        yield problem("database", str(error), "no router starts until that is mended")
    except StoreUnavailable as error:
        yield problem("database", str(error), "see that it runs and can be reached from here")
    else:
        yield from of_settings(found)
        yield from of_time(found, SystemClock().now())
        yield of_room(found, address.pool)


def of_settings(found: DatabaseAbout) -> Iterator[Check]:
    """May a crash or a failover lose deliveries? Do its tables stay small?"""
    for risk, fix in found.risks():
        yield problem("database", risk, fix)
    if not found.risks():
        says = f"PostgreSQL {found.settings.version} keeps what it acknowledges"
        yield ok("database", says)
    if not found.settings.autovacuum:
        says = "autovacuum is off: what has ended stays in the tables, and all gets slower"
        yield problem("database", says, "set autovacuum = on, for the table `queue` too")


def of_time(found: DatabaseAbout, now: int) -> Iterator[Check]:
    """By how much are the clocks of this machine, as of which it is `now`, and of others wrong?"""
    clocks = {"this machine": now - found.now}
    clocks |= {f"node {one.card.name}": one.card.skew_ms for one in found.living}
    wrong = {whose: ahead for whose, ahead in clocks.items() if abs(ahead) > store_time.SKEW_MS}
    for whose, ahead in wrong.items():
        says = f"{whose} is {ahead / 1000:+.1f} s from the database's: no router is ready there"
        yield problem("database time", says, "let a time server set both clocks")
    if not wrong:
        yield ok("database time", f"as that of this machine and of {len(found.living)} nodes")


def of_room(found: DatabaseAbout, pool: int) -> Check:
    """May one more router, or another one's successor, have its connections?"""
    room = found.room(pool)
    most, nodes = found.settings.connections, len(found.living)
    if room >= pool:
        return ok("connections", f"{room} of {most} are left beside those of {nodes} routers")
    says = f"{max(0, room)} of {most} are left beside {pool} for each of {nodes} routers"
    return problem("connections", says, "raise max_connections, or lower server.store.pool")
