"""What `router doctor` asks the running server, its store, and the way from here to its door."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec

from router.cli.admin import AdminClient, NoServer
from router.cli.doctor_check import Check, ok, problem, unknown
from router.cli.doctor_offline import to_select
from router.cli.options import Options
from router.cli.output import moment, span
from router.cli.subscription_plan import address_for, topics_of_rules
from router.cli.wanted_events import events_of, wanted
from router.diagnosis.probe import Probe
from router.model.delivery import DeliverySummary, InboundRequest
from router.model.patterns import wants_event
from router.model.settings import PUBLISHED, Endpoint
from router.model.subscription import Subscription, subscriptions
from router.operator.answers import ServerState
from router.provider_calls import reachability
from router.providers.provider import Provider
from router.rules.ruleset import Ruleset
from router.store.values import Selector

LOOKED_AT = 200
EVENTS_LOOKED_AT = 1_000
PATTERNS_MAX = 20
NAMES_SHOWN = 8
SKEW_MS = 60_000
ADDRESSES_AT_ONCE = 8


class ServerStatus(msgspec.Struct, frozen=True):
    """What the running server says; `status` None: it says nothing."""

    status: ServerState | None
    refusals: tuple[dict[str, Any], ...] = ()
    trouble: str | None = None


def ask_server(place: Options, ruleset: Ruleset) -> ServerStatus:
    """Ask the admin door what runs behind it."""
    try:
        with AdminClient.of(place, ruleset) as door:
            return ServerStatus(door.status(), tuple(door.refusals(500).refusals))
    except NoServer as error:
        return ServerStatus(None, trouble=error.message)
    except click.ClickException as error:
        return ServerStatus(None, trouble=error.message)


def of_server(told: ServerStatus, ruleset: Ruleset, *, here: bool = True) -> Iterator[Check]:
    """Does a server run, with this file? `here`: it is to run the file that we read."""
    status = told.status
    if status is None:
        fix = "start it: `router serve`; or name its admin door with --admin or --server"
        yield problem("server", told.trouble or "it does not answer", fix)
        return
    if not status.reload.ok:
        first = (status.reload.error or "").partition("\n")[0]
        says = f"it runs, with older rules: the file could not be loaded: {first}"
        yield problem("server", says, "`router check`, mend the file; it is read again by itself")
    elif here and status.generation != ruleset.generation:
        says = "it runs, with other rules than this file has (or other variables)"
        yield problem("server", says, "is it the right file (-f)? else restart it")
    else:
        yield ok("server", f"runs since {moment(status.started_at)}, with this file")


# -- the way from here ----------------------------------------------------------------------------


async def of_addresses(ruleset: Ruleset, endpoints: Sequence[Endpoint]) -> dict[str, list[Check]]:
    """Knock at every address that senders are told."""
    base = urlsplit(ruleset.server.base_url)
    egress = ruleset.server.egress_allow
    turn = asyncio.Semaphore(ADDRESSES_AT_ONCE)

    async def one(endpoint: Endpoint, address: str) -> tuple[str, Check]:
        url = f"{base.scheme}://{base.netloc}{address}"
        async with turn, reachability.client(url, egress) as http:
            seen = await reachability.look(http, url, method=_method(ruleset, endpoint))
        judged = reachability.judge(seen)
        says = f"{url}: {judged.says}"
        verdict = ok("address", says, endpoint.name)
        if not judged.ok:
            verdict = problem("address", says, judged.fix or "", endpoint.name)
        return endpoint.name, verdict

    found: dict[str, list[Check]] = {}
    asked = [one(endpoint, address) for endpoint in endpoints for address in endpoint.addresses]
    for name, check in await asyncio.gather(*asked):
        found.setdefault(name, []).append(check)
    return found


def _method(ruleset: Ruleset, endpoint: Endpoint) -> str:
    """POST, unless that would be let in: a method that no delivery has proves as much."""
    provider = ruleset.providers[endpoint.provider]
    if not endpoint.unsigned and "POST" in provider.admits:
        return "POST"
    return next(m for m in ("DELETE", "PATCH", "OPTIONS") if m not in provider.admits)


# -- the store ------------------------------------------------------------------------------------


class EndpointHistory(msgspec.Struct, frozen=True):
    """
    What the store knows of one endpoint: its newest deliveries, when the newest was heard of,
    which of the events that rules name it has, and how long after its signature the newest came.
    """

    newest: tuple[DeliverySummary, ...] = ()
    last: int | None = None
    since: int | None = None
    events: Mapping[str, bool] = {}
    skew_ms: int | None = None


async def read_kept(reader: Any, ruleset: Ruleset, endpoint: Endpoint) -> EndpointHistory:
    """Read it."""
    from router.serving.silent_endpoints import FACTS, newest_of

    newest = await reader.deliveries(Selector(endpoint=endpoint.name, limit=LOOKED_AT))
    patterns = wanted(ruleset, endpoint).patterns[:PATTERNS_MAX]
    events = {pattern: await _has_come(reader, endpoint.name, pattern) for pattern in patterns}
    fact = (await reader.recall(FACTS)).get(FACTS + endpoint.name) or {}
    return EndpointHistory(
        newest,
        await newest_of(reader, endpoint.name),
        fact.get("since"),
        events,
        await _skew(reader, ruleset.providers[endpoint.provider], newest),
    )


async def _has_come(reader: Any, endpoint: str, pattern: str) -> bool:
    """Does the store hold an event of a pattern, as the event's name or with its action?"""
    names = [pattern, pattern.rpartition(".")[0] or pattern]
    for name in dict.fromkeys([None] if "*" in pattern else names):
        chosen = Selector(endpoint=endpoint, event=name, limit=EVENTS_LOOKED_AT)
        if any(wants_event((pattern,), e.name, e.action) for e in await reader.events(chosen)):
            return True
    return False


async def _skew(reader: Any, provider: Provider, newest: Sequence[DeliverySummary]) -> int | None:
    """How long after its signed time the newest delivery came, where a time is signed."""
    record = await reader.delivery(newest[0].id) if newest else None
    if record is None:
        return None
    d = record.delivery
    headers = tuple((n.encode("latin-1"), v.encode("latin-1")) for n, v in d.headers)
    request = InboundRequest(d.method, d.path.encode("latin-1"), b"", headers, b"", "", 0)
    for rule in provider.definition.ways:
        if rule.signs_body:
            stamp = Probe(provider.definition, rule, request).timestamp_s
            if stamp is not None:
                return int(d.received_at) - stamp * 1000
    return None


def of_deliveries(kept: EndpointHistory, endpoint: Endpoint, now_ms: int) -> Iterator[Check]:
    """Has it been heard lately, by the version and the clock that are expected?"""
    yield _heard(kept, endpoint, now_ms)
    odd = sum("api_version" in d.flags for d in kept.newest)
    if odd:
        says = f"{odd} of the last {len(kept.newest)} deliveries bear another API version"
        fix = (
            "`router deliveries --endpoint` shows them; update the sender's, or `api_version` here"
        )
        yield problem("versions", says, fix, endpoint.name)
    if kept.skew_ms is not None:
        yield _clock(kept.skew_ms, endpoint)


def _heard(kept: EndpointHistory, endpoint: Endpoint, now_ms: int) -> Check:
    fix = (
        "look whether the sender has switched the webhook off (many do after failures), and at "
        "its list of recent deliveries"
    )
    expected = endpoint.expect_every
    waiting = kept.since if kept.last is None else kept.last
    if expected is not None and waiting is not None and now_ms - waiting > expected:
        says = f"silent for {span(now_ms - waiting)}, more than {span(expected)} (`expect_every`)"
        return problem("heard", says, fix, endpoint.name)
    if kept.last is None:
        says = "nothing has come yet"
        how = f"have the sender send a test, or try `router send {endpoint.name} EVENT`"
        return unknown("heard", says, how, endpoint.name)
    says = f"the last delivery came {span(now_ms - kept.last)} ago"
    return ok("heard", says, endpoint.name)


def _clock(skew_ms: int, endpoint: Endpoint) -> Check:
    if skew_ms < -SKEW_MS:
        says = f"the newest delivery was signed {span(-skew_ms)} after it came: our clock is slow"
        return problem("clock", says, "keep this machine's clock by NTP", endpoint.name)
    if skew_ms > SKEW_MS:
        says = f"the newest delivery came {span(skew_ms)} after it was signed"
        fix = "a redelivery may do that; else our clock is fast: keep it by NTP"
        return unknown("clock", says, fix, endpoint.name)
    return ok("clock", f"agrees with the sender's within {span(SKEW_MS)}", endpoint.name)


def of_topics(kept: EndpointHistory, endpoint: Endpoint, provider: Provider) -> Iterator[Check]:
    """Which events that rules name are not in the store? Nobody can be asked about scopes."""
    never = [name for name, came in kept.events.items() if not came]
    if not never:
        if kept.events:
            yield ok("topics", "every event that rules name has come", endpoint.name)
        return
    says = f"not among what the store holds: {', '.join(never)}"
    others = list(dict.fromkeys(name for d in kept.newest for name in d.events))
    if others and not any(kept.events.values()):
        says += f" (what came lately: {', '.join(others[:NAMES_SHOWN])})"
    if provider.has_versions:
        first = next(iter(events_of(provider, never[0])), never[0])
        fix = (
            "if they happen there: a missing access scope or permission, or another API version; "
            f"`router subscriptions test {endpoint.name} {first}` asks for a test notification"
        )
    else:
        fix = "if they happen there: select them in the sender's settings"
    yield unknown("topics", says, fix, endpoint.name)


# -- subscriptions, ranges ------------------------------------------------------------------------


def of_subscriptions(
    ruleset: Ruleset, endpoint: Endpoint, facts: Mapping[str, Any]
) -> Iterator[Check]:
    """What was subscribed from here, against what the rules want."""
    provider = ruleset.providers[endpoint.provider]
    rule = provider.definition.api
    if rule is None or rule.subscribe is None:
        says = f"{provider.label} is subscribed to in its settings, which no call shows"
        selected = to_select(wanted(ruleset, endpoint), provider)
        fix = f"compare there: the address of `router addresses`; {selected}"
        yield unknown("subscription", says, fix, endpoint.name)
        return
    mine = [r for r in subscriptions(facts).values() if r.endpoint == endpoint.name]
    fix = f"`router subscriptions create {endpoint.name} --from-rules --dry-run` shows a plan"
    if not mine:
        says = "nothing was subscribed from here; it may have been by hand"
        yield unknown("subscription", says, fix, endpoint.name)
        return
    yield from _against(ruleset, endpoint, mine, fix)


def _against(
    ruleset: Ruleset, endpoint: Endpoint, mine: Sequence[Subscription], fix: str
) -> Iterator[Check]:
    unsure = [r.topic for r in mine if r.state != "made"]
    if unsure:
        says = f"asked for, and no answer came: {', '.join(sorted(set(unsure)))}"
        how = "look in the shop's admin whether it is there; `create --again` asks again"
        yield problem("subscription", says, how, endpoint.name)
    names, _ = topics_of_rules(ruleset, endpoint)
    here = {r.topic for r in mine if r.address == address_for(ruleset, endpoint, r.topic)}
    elsewhere = sorted({r.topic for r in mine} - here)
    missing = [name for name in names if name not in here]
    if elsewhere:
        says = f"subscribed for another address than base_url gives now: {', '.join(elsewhere)}"
        yield problem("subscription", says, fix, endpoint.name)
    elif missing:
        says = f"wanted by rules, not subscribed from here: {', '.join(missing)}"
        yield problem("subscription", says, fix, endpoint.name)
    elif not unsure:
        yield ok("subscription", f"{len(here)} topics, made from here", endpoint.name)


def of_ranges(told: ServerStatus, endpoint: Endpoint, base: str | None) -> Iterator[Check]:
    """Are the address ranges that the sender publishes known?"""
    if PUBLISHED not in endpoint.allow_from or told.status is None:
        return
    at = None if base is None else told.status.ranges.get(base)
    if at is None:
        says = f"the address ranges of {base} are not known yet: every sender gets 503"
        fix = "the router's log says why they cannot be fetched"
        yield problem("ranges", says, fix, endpoint.name)
    else:
        yield ok("ranges", f"as {base} published them, fetched {moment(at)}", endpoint.name)
