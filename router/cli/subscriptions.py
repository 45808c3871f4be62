"""`router subscriptions`: have a sender notify an endpoint, by its own API."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from router.cli.completion_values import endpoint_names
from router.cli.generations import rules_to_read
from router.cli.options import Options, place_options
from router.cli.output import moment, note, print_json, print_table, visible
from router.errors import NotFound, UsageError

if TYPE_CHECKING:
    from router.cli.subscription_plan import Row, SubscriptionPlan
    from router.model.settings import Endpoint
    from router.provider_calls.subscriptions import SubscriptionResult
    from router.providers.management import Access
    from router.rules.ruleset import Ruleset

TIMEOUT_S = 30.0


@click.group()
def subscriptions() -> None:
    """Subscriptions at a sender that takes them by calls of its API."""


def api_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that stand in place of an endpoint's `api:`."""
    for option in reversed(_API_OPTIONS):
        command = option(command)
    return command


_API_OPTIONS = (
    click.option("--shop-base", metavar="URL", help="The shop's own address."),
    click.option("--api-version", metavar="YYYY-MM", help="The API's version (2024-01)."),
    click.option("--token", metavar="SECRET", help="A secret of the rules file: the access token."),
    click.option("--token-env", metavar="NAME", help="The variable that holds the access token."),
    click.option(
        "--spelling", metavar="NAME", help="The provider's name whose token header is sent."
    ),
    click.option(
        "--timeout",
        metavar="SECONDS",
        type=click.FloatRange(0, 600, min_open=True),
        default=TIMEOUT_S,
        help="The longest wait for one answer (30).",
    ),
)


@subscriptions.command()
@click.argument("endpoint", shell_complete=endpoint_names)
@place_options("dev", "store", "admin")
@click.option(
    "--topic", "topics", metavar="TOPIC", multiple=True, help="orders/create; repeatable."
)
@click.option("--from-rules", is_flag=True, help="The events that this endpoint's rules name.")
@click.option("--all", "everything", is_flag=True, help="Every topic of the catalogue.")
@api_options
@click.option("--graphql/--rest", default=None, help="Which of the two interfaces is called.")
@click.option(
    "--graphql-path", metavar="PATH", help="Where GraphQL is, if not where it usually is."
)
@click.option("--again", is_flag=True, help="Also what was asked for before.")
@click.option("--dry-run", is_flag=True, help="Show the plan, ask for nothing.")
@click.option("--yes", is_flag=True, help="Do not ask me.")
@click.pass_context
def create(ctx: click.Context, /, *, place: Options, endpoint: str, **given: Any) -> None:
    """
    Subscribe ENDPOINT's address to topics, after showing the plan.

    What was made before is left alone. Exit code 1 if anything was refused or is unsure.
    """
    from router.cli.subscription_plan import endpoint_of

    place, ruleset = place.working()
    plan = _plan(place, ruleset, endpoint_of(ruleset, endpoint), given)
    asking = not given["yes"] and not given["dry_run"] and bool(plan.wanted)
    if asking:
        _refuse_unasked(place)
    if not (place.as_json and plan.wanted and given["yes"]):
        _show(place, plan)
    if given["dry_run"] or not plan.wanted:
        if not plan.wanted and any(row.do == "unsure" for row in plan.rows):
            ctx.exit(1)
        return
    if asking:
        click.confirm(f"Create {_count(len(plan.wanted))}?", abort=True, err=True)
    results = _create(place, ruleset, plan, given["timeout"])
    _report(place, results)
    if any(result.outcome != "made" for result in results):
        ctx.exit(1)


@subscriptions.command(name="test")
@click.argument("endpoint", shell_complete=endpoint_names)
@click.argument("what", metavar="TOPIC|ID")
@place_options("dev", "store")
@api_options
@click.pass_context
def send_test(
    ctx: click.Context, /, *, place: Options, endpoint: str, what: str, timeout: float, **given: Any
) -> None:
    """Have the sender send a test notification for one subscription of ENDPOINT."""
    from router.cli.subscription_plan import ApiWish, access_for, endpoint_of

    place, ruleset = place.working()
    found = endpoint_of(ruleset, endpoint)
    access = access_for(place, ruleset, found, ApiWish(endpoint, **given))
    webhook_id = _identity(ruleset, found, access, what)
    against = asyncio.run(_send_test(ruleset, access, webhook_id, timeout))
    if place.as_json:
        print_json(
            {"endpoint": endpoint, "id": webhook_id, "sent": against is None, "words": against}
        )
    elif against is None:
        click.echo(f"asked for a test notification of subscription {visible(webhook_id)}")
        click.echo(f"`router deliveries --endpoint {endpoint}` shows whether it came")
    else:
        note(f"router: the sender refused: {visible(against)}")
    if against is not None:
        ctx.exit(1)


@subscriptions.command(name="list")
@click.argument("endpoint", required=False, shell_complete=endpoint_names)
@place_options("dev", "store")
def list_made(*, place: Options, endpoint: str | None) -> None:
    """What was subscribed from here, newest first."""
    from router.cli.subscription_plan import read_records

    place, ruleset = rules_to_read(place)
    known = sorted(
        (r for r in read_records(ruleset.server.store).values() if endpoint in (None, r.endpoint)),
        key=lambda r: r.asked_at,
        reverse=True,
    )
    if place.as_json:
        print_json(known)
        return
    cells = [
        [r.endpoint, r.topic, r.address, r.id or "-", _STATES[r.state], moment(r.asked_at)]
        for r in known
    ]
    print_table(("endpoint", "topic", "address", "id", "state", "at"), cells)


_STATES = {"made": "made", "asked": "unsure: no answer came"}


# -- making them


def _plan(
    place: Options, ruleset: "Ruleset", endpoint: "Endpoint", given: dict[str, Any]
) -> "SubscriptionPlan":
    from router.cli.subscription_plan import ApiWish, access_for, planned, read_records
    from router.provider_calls.subscriptions import SubscriptionApi

    topics = _topics(ruleset, endpoint, given)
    wish = ApiWish(
        endpoint.name, **{n: given[n] for n in ApiWish.__struct_fields__ if n != "endpoint"}
    )
    access = access_for(place, ruleset, endpoint, wish)
    path = given["graphql_path"] or endpoint.api.graphql_path
    if path is not None and not path.startswith("/"):
        raise UsageError(f"--graphql-path begins with a slash, unlike {path!r}")
    chosen = given["graphql"]
    graphql = (
        (given["graphql_path"] is not None or endpoint.api.graphql) if chosen is None else chosen
    )
    known = read_records(ruleset.server.store)
    return planned(
        ruleset,
        endpoint,
        topics,
        access,
        SubscriptionApi(graphql, path),
        known,
        again=given["again"],
    )


def _topics(ruleset: "Ruleset", endpoint: "Endpoint", given: dict[str, Any]) -> list[str]:
    from router.cli.subscription_plan import topics_given, topics_of_rules

    provider = ruleset.providers[endpoint.provider]
    topics = topics_given(provider, given["topics"])
    if given["everything"]:
        topics += [info.name for info in provider.events]
    if given["from_rules"]:
        named, wanting_all = topics_of_rules(ruleset, endpoint)
        if wanting_all and not topics:
            raise UsageError(
                f"no events are named by rule {', '.join(wanting_all)}, so it would want every "
                "topic: add --all to mean that, or name what you want with --topic"
            )
        topics += named
    if not topics:
        raise UsageError("name topics with --topic, or use --from-rules or --all")
    return topics


def _refuse_unasked(place: Options) -> None:
    if place.as_json or not sys.stdin.isatty():
        raise UsageError(
            "nobody is here to be asked: --dry-run shows the plan, --yes carries it out"
        )


def _create(
    place: Options, ruleset: "Ruleset", plan: "SubscriptionPlan", timeout: float
) -> "list[SubscriptionResult]":
    results: list[SubscriptionResult] = []
    with _progress(place, len(plan.wanted)) as advance:

        def tell(result: "SubscriptionResult") -> None:
            results.append(result)
            advance()

        try:
            asyncio.run(_run(place, ruleset, plan, timeout, tell))
        except BaseException:
            _report(place, results)  # what was made is made, whatever stopped us
            raise
    return results


async def _run(
    place: Options,
    ruleset: "Ruleset",
    plan: "SubscriptionPlan",
    timeout: float,  # noqa: ASYNC109 - of each call, not of this
    tell: "Callable[[SubscriptionResult], None]",
) -> None:
    from router.cli.subscription_plan import Keeper
    from router.clock import SystemClock
    from router.provider_calls.client import Client, hosts_of
    from router.provider_calls.rate_limit import Pace
    from router.provider_calls.subscriptions import Subscriber

    clock, access = SystemClock(), plan.access
    before = [record.asked_at for record in plan.known.values()]
    hosts, egress = hosts_of(access.base), ruleset.server.egress_allow
    async with Client(hosts, egress=egress, timeout_s=timeout) as client:
        subscriber = Subscriber(
            client,
            access,
            way=plan.way,
            clock=clock,
            keep=Keeper(place, ruleset).keep,
            pace=Pace(clock, access.rule.subscriptions_per_s, before=before),
            known=plan.known,
        )
        await subscriber.run(plan.endpoint, plan.wanted, tell=tell)


@contextmanager
def _progress(place: Options, total: int) -> "Iterator[Callable[[], None]]":
    """A bar on a terminal, nothing elsewhere."""
    if place.as_json or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("subscribing", total=total)
        yield lambda: progress.advance(task)


# -- the test notification


def _identity(ruleset: "Ruleset", endpoint: "Endpoint", access: "Access", what: str) -> str:
    """The id of the subscription that a topic or an id means."""
    from router.cli.subscription_plan import read_records, topics_given
    from router.providers.management import is_topic, topic_table

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
        raise NotFound(f"the sender never said the id of the subscription to {topic}; name it")
    return newest.id


async def _send_test(
    ruleset: "Ruleset",
    access: "Access",
    webhook_id: str,
    timeout: float,  # noqa: ASYNC109 - of the call
) -> str | None:
    from router.clock import SystemClock
    from router.provider_calls.client import Client, hosts_of
    from router.provider_calls.rate_limit import Pace
    from router.provider_calls.subscriptions import send_test

    clock = SystemClock()
    hosts, egress = hosts_of(access.base), ruleset.server.egress_allow
    async with Client(hosts, egress=egress, timeout_s=timeout) as client:
        pace = Pace(clock, access.rule.subscriptions_per_s)
        return await send_test(client, access, webhook_id, clock=clock, pace=pace)


# -- showing


def _show(place: Options, plan: "SubscriptionPlan") -> None:
    way = "GraphQL" if plan.way.graphql else "REST"
    if place.as_json:
        print_json(
            {
                "endpoint": plan.endpoint,
                "base": plan.access.base,
                "interface": way,
                "version": plan.access.version,
                "plan": [_told(row) for row in plan.rows],
            }
        )
        return
    click.echo(f"{plan.endpoint} at {plan.access.base}, {way}, version {plan.access.version}")
    print_table(
        ("topic", "address", "plan"), [[row.topic, row.address, _doing(row)] for row in plan.rows]
    )
    unsure = [row.topic for row in plan.rows if row.do == "unsure"]
    if unsure:
        note(
            f"no answer ever came for {', '.join(unsure)}: look at the sender's list of webhooks; "
            "--again asks once more"
        )
    click.echo(f"{_count(len(plan.wanted))} to create")


def _told(row: "Row") -> dict[str, Any]:
    record = None if row.record is None else msgspec.structs.asdict(row.record)
    return {"topic": row.topic, "address": row.address, "do": row.do, "record": record}


def _doing(row: "Row") -> str:
    record = row.record
    if record is None:
        return "create"
    since = moment(record.asked_at)
    match row.do:
        case "keep":
            return f"made already, {since}" + (f", id {record.id}" if record.id else "")
        case "unsure":
            return f"unsure: asked for {since}, no answer came"
        case _:
            return f"create again (asked for {since})"


def _report(place: Options, results: "list[SubscriptionResult]") -> None:
    if place.as_json:
        print_json({"results": results})
        return
    print_table(
        ("topic", "outcome", "id", "why"),
        [[r.topic, r.outcome, r.id or "-", r.words or ""] for r in results],
    )
    made = sum(r.outcome == "made" for r in results)
    click.echo(f"{_count(made)} created" + ("" if made == len(results) else f" of {len(results)}"))


def _count(n: int) -> str:
    return f"{n} subscription" + ("" if n == 1 else "s")
