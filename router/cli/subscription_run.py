"""What `router subscriptions` does: plan, create, test and list, by the sender's API."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from router.cli.generations import rules_to_read
from router.cli.operator_access import acting
from router.cli.options import Options
from router.cli.output import (
    counted,
    note,
    print_json,
    print_list,
    print_table,
    printed,
    timestamp,
    when,
)
from router.cli.subscription_plan import (
    ApiOptions,
    PlannedTopic,
    SubscriptionPlan,
    access_for,
    endpoint_of,
    known_scopes,
    planned,
    read_records,
    remember,
    topics_given,
    topics_of_rules,
)
from router.clock import SystemClock
from router.errors import NotFound, UsageError
from router.legible import visible
from router.model.settings import Endpoint
from router.model.subscription import GrantedScopes
from router.provider_calls import subscriptions
from router.provider_calls.answers import CallFailedError
from router.provider_calls.client import ProviderClient, hosts_of
from router.provider_calls.rate_limit import Pace
from router.provider_calls.subscriptions import Subscriber, SubscriptionApi, SubscriptionResult
from router.providers.management import Access, BadAnswerError, is_topic, topic_table
from router.rules.ruleset import Ruleset


def create(place: Options, name: str, given: dict[str, Any]) -> bool:
    """
    Show the plan, and carry it out after a yes; False: something was refused or is unsure.

    Raises:
        UsageError: the plan cannot be made, or nobody could confirm it.
    """
    place, ruleset = place.working()
    if not given["dry_run"]:
        with acting(place, ruleset) as client:  # or nobody could remember what was made
            client.status()
    plan = _plan(place, ruleset, endpoint_of(ruleset, name), given)
    asking = not given["yes"] and not given["dry_run"] and bool(plan.wanted)
    if asking and (place.as_json or not sys.stdin.isatty()):
        raise UsageError("Not a terminal: pass --yes or --dry-run.")
    if not (place.as_json and plan.wanted and given["yes"]):
        _show(place, plan)
    if not plan.wanted:
        return all(row.do == "keep" for row in plan.rows)
    if given["dry_run"]:
        return True
    if asking:
        click.confirm(f"Create {counted(len(plan.wanted), 'subscription')}?", abort=True, err=True)
    results: list[SubscriptionResult] = []
    try:
        with _progress(place, len(plan.wanted), results) as done:
            asyncio.run(_create(place, ruleset, plan, given["timeout"], done))
    finally:
        _report(place, results)  # what was made is made, whatever stopped us
    forbidden = any(row.do == "forbidden" for row in plan.rows)
    return all(result.outcome == "made" for result in results) and not forbidden


def send_test(place: Options, *, endpoint: str, what: str, timeout: float, **given: Any) -> bool:
    """Ask the sender for a test notification; False: it refused."""
    place, ruleset = place.working()
    found = endpoint_of(ruleset, endpoint)
    access = access_for(place, ruleset, found, ApiOptions(endpoint, **given))
    webhook_id = _id_of(ruleset, found, access, what)

    async def send() -> str | None:
        clock = SystemClock()
        pace = Pace(clock, access.rule.subscriptions_per_s)
        async with _client(ruleset, access, timeout) as client:
            return await subscriptions.send_test(client, access, webhook_id, clock=clock, pace=pace)

    against = asyncio.run(send())
    sent = against is None
    if place.as_json:
        print_json({"endpoint": endpoint, "id": webhook_id, "sent": sent, "words": against})
    elif against is None:
        click.echo(f"requested a test notification of subscription {visible(webhook_id)}")
        click.echo(f"`router deliveries --endpoint {endpoint}` shows whether it came")
    else:
        note(f"router: the sender refused: {visible(against)}")
    return sent


def list_made(place: Options, endpoint: str | None) -> None:
    """Print the subscriptions made from here, newest first."""
    place, ruleset = rules_to_read(place)
    known = sorted(
        (r for r in read_records(ruleset.server.store).values() if endpoint in (None, r.endpoint)),
        key=lambda r: r.asked_at,
        reverse=True,
    )
    states = {"made": "made", "asked": "unsure: no answer came"}
    print_list(
        known,
        ("endpoint", "topic", "address", "id", "state", "at"),
        (
            (r.endpoint, r.topic, r.address, r.id or "-", states[r.state], when(r.asked_at))
            for r in known
        ),
        as_json=place.as_json,
    )


# -- the plan


def _plan(
    place: Options, ruleset: Ruleset, endpoint: Endpoint, given: dict[str, Any]
) -> SubscriptionPlan:
    topics = _topics(ruleset, endpoint, given)
    access = access_for(
        place,
        ruleset,
        endpoint,
        msgspec.convert({**given, "endpoint": endpoint.name}, ApiOptions),
    )
    path = given["graphql_path"] or endpoint.api.graphql_path
    if path is not None and not path.startswith("/"):
        raise UsageError(f"--graphql-path begins with a slash, unlike {path!r}")
    graphql = given["graphql"]
    if graphql is None:
        graphql = given["graphql_path"] is not None or endpoint.api.graphql
    granted = known_scopes(ruleset.server.store, access.base)
    if access.rule.scopes is not None and not given["dry_run"]:
        granted = asyncio.run(_granted(place, ruleset, access, given["timeout"])) or granted
    return planned(
        ruleset,
        endpoint,
        topics,
        access,
        SubscriptionApi(graphql, path),
        read_records(ruleset.server.store),
        granted=granted,
        again=given["again"],
    )


async def _granted(
    place: Options,
    ruleset: Ruleset,
    access: Access,
    timeout: float,  # noqa: ASYNC109 - of each call, not of this
) -> tuple[str, ...] | None:
    """The scopes of the token, which are remembered; None: the sender does not say."""
    clock = SystemClock()
    pace = Pace(clock, access.rule.subscriptions_per_s)
    try:
        async with _client(ruleset, access, timeout) as client:
            scopes = await subscriptions.granted_scopes(client, access, clock=clock, pace=pace)
    except (BadAnswerError, CallFailedError) as error:
        note(f"the token's scopes are not known: {visible(str(error))}")
        return None
    granted = GrantedScopes(access.base, scopes, clock.now())
    await remember(place, ruleset, scopes=[granted])
    return scopes


def _topics(ruleset: Ruleset, endpoint: Endpoint, given: dict[str, Any]) -> list[str]:
    provider = ruleset.providers[endpoint.provider]
    topics = topics_given(provider, given["topics"])
    if given["everything"]:
        topics += [info.name for info in provider.events]
    if given["from_rules"]:
        named, wanting_all = topics_of_rules(ruleset, endpoint)
        if wanting_all and not topics:
            raise UsageError(
                f"rule {', '.join(wanting_all)} names no events, so it would want every topic: "
                "add --all to mean that, or name what you want with --topic"
            )
        topics += named
    if not topics:
        raise UsageError("name topics with --topic, or use --from-rules or --all")
    return topics


def _show(place: Options, plan: SubscriptionPlan) -> None:
    way = "GraphQL" if plan.way.graphql else "REST"
    if place.as_json:
        print_json(
            {
                "endpoint": plan.endpoint,
                "base": plan.access.base,
                "interface": way,
                "version": plan.access.version,
                "plan": plan.rows,
            }
        )
        return
    click.echo(f"{plan.endpoint} at {plan.access.base}, {way}, version {plan.access.version}")
    rows = [[row.topic, row.address, _step(row)] for row in plan.rows]
    print_table(("topic", "address", "plan"), rows)
    if unsure := [row.topic for row in plan.rows if row.do == "unsure"]:
        note(
            f"no answer ever came for {', '.join(unsure)}: look at the sender's list of webhooks; "
            "--again requests them once more"
        )
    if scopes := sorted({scope for row in plan.rows for scope in row.needs}):
        note(f"give the app the scope {' or '.join(scopes)}, and install it again")
    click.echo(f"{counted(len(plan.wanted), 'subscription')} to create")


def _step(row: PlannedTopic) -> str:
    record = row.record
    if row.needs:
        return f"the token may not: it needs the scope {' or '.join(row.needs)}"
    if record is None:
        return "create"
    since = timestamp(record.asked_at)
    return {
        "keep": f"made already, {since}" + (f", id {record.id}" if record.id else ""),
        "unsure": f"unsure: requested {since}, no answer came",
        "create": f"create again (requested {since})",
    }[row.do]


# -- the calls


def _client(ruleset: Ruleset, access: Access, timeout: float) -> ProviderClient:
    """`timeout` is of each call."""
    hosts, egress = hosts_of(access.base), ruleset.server.egress_allow
    return ProviderClient(hosts, egress=egress, timeout_s=timeout)


async def _create(
    place: Options,
    ruleset: Ruleset,
    plan: SubscriptionPlan,
    timeout: float,  # noqa: ASYNC109 - of each call, not of this
    done: Callable[[SubscriptionResult], None],
) -> None:
    clock, access = SystemClock(), plan.access
    before = [record.asked_at for record in plan.known.values()]
    async with _client(ruleset, access, timeout) as client:
        await Subscriber(
            client,
            access,
            way=plan.way,
            clock=clock,
            keep=lambda facts: remember(place, ruleset, facts=dict(facts)),
            pace=Pace(clock, access.rule.subscriptions_per_s, before=before),
            known=plan.known,
        ).run(plan.endpoint, plan.wanted, on_result=done)


@contextmanager
def _progress(
    place: Options, total: int, results: list[SubscriptionResult]
) -> Iterator[Callable[[SubscriptionResult], None]]:
    """Collects results; on a terminal with a bar."""
    if place.as_json or not sys.stderr.isatty():
        yield results.append
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("subscribing", total=total)

        def done(result: SubscriptionResult) -> None:
            results.append(result)
            progress.advance(task)

        yield done


def _report(place: Options, results: list[SubscriptionResult]) -> None:
    if printed({"results": results}, as_json=place.as_json):
        return
    rows = [[r.topic, r.outcome, r.id or "-", r.words or ""] for r in results]
    print_table(("topic", "outcome", "id", "why"), rows)
    made = sum(r.outcome == "made" for r in results)
    of = "" if made == len(results) else f" of {len(results)}"
    click.echo(f"{counted(made, 'subscription')} created{of}")


def _id_of(ruleset: Ruleset, endpoint: Endpoint, access: Access, what: str) -> str:
    """The id of the subscription that a topic or an id names."""
    provider = ruleset.providers[endpoint.provider]
    if not is_topic(what) and what not in topic_table(i.name for i in provider.events):
        return what
    (topic,) = topics_given(provider, [what])
    made = [
        r
        for r in read_records(ruleset.server.store).values()
        if (r.endpoint, r.topic, r.base) == (endpoint.name, topic, access.base)
    ]
    if not made:
        raise NotFound(
            f"no subscription of {endpoint.name} to {topic} was made from here; "
            f"`router subscriptions create {endpoint.name} --topic {topic}` makes one"
        )
    newest = max(made, key=lambda r: r.asked_at)
    if newest.id is None:
        raise NotFound(f"the sender never gave the id of the subscription to {topic}; name it")
    return newest.id
