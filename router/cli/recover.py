"""`router recover`: what a sender could not deliver is asked for again."""

import time
from urllib.parse import quote

import click

from router.cli.admin import AdminClient
from router.cli.consent import Consent, consent_options, refuse_silence
from router.cli.endpoint_argument import endpoint_argument
from router.cli.operator_access import acting
from router.cli.options import Options, place_options
from router.cli.output import counted, note, print_table, printed, timestamp, when
from router.legible import visible
from router.model.recovery import Recovery, RecoveryPlan

POLL_S = 1.0


@click.command()
@endpoint_argument(required=True)
@place_options("dev", "store", "admin", "server")
@click.option(
    "--since",
    metavar="TIME",
    help="From when on: 6h (ago), a time. Default: where the last run ended, or 6h.",
)
@consent_options
@click.pass_context
def recover(
    ctx: click.Context, /, *, place: Options, endpoint: str, since: str | None, consent: Consent
) -> None:
    """
    Ask ENDPOINT's sender for what it could not deliver.

    It delivers that again, or it is fetched and taken as a delivery. What arrived meanwhile is
    known by its id, so asking twice does nothing twice.
    """
    begin = _instant(since)
    if not consent.dry_run and not consent.yes:
        refuse_silence(quiet=place.as_json)
    if consent.dry_run or not consent.yes:
        asked = {"endpoint": endpoint, "since": begin, "dry_run": True}
        with acting(place) as client:
            plan = client.post("/api/recover", asked, RecoveryPlan)
        _show(place, plan)
        if consent.dry_run or not plan.missed:
            return
        click.confirm("Recover them?", abort=True)
    with acting(place) as client:
        run = _done(client, endpoint, begin)
    _report(place, run)
    if run.state != "done" or run.failed:
        ctx.exit(1)


def _instant(text: str | None) -> int | None:
    if text is None:
        return None
    from router.clock import SystemClock
    from router.store.time_text import instant

    return instant(text, SystemClock().now())


def _done(client: AdminClient, endpoint: str, since: int | None) -> Recovery:
    """A run, begun or that which runs already, at its end, however long the server takes."""
    run = client.post("/api/recover", {"endpoint": endpoint, "since": since}, Recovery)
    try:
        while run.state == "running":
            note(f"{counted(run.seen, 'delivery')} looked at so far, {run.missed} missed")
            time.sleep(POLL_S)
            run = client.read(f"/api/recoveries/{quote(endpoint, safe='')}", {}, Recovery)
    except KeyboardInterrupt:
        note("what was asked for is remembered: the next run goes on")
        raise
    return run


# -- what is printed


def _show(place: Options, plan: RecoveryPlan) -> None:
    if printed(plan, as_json=place.as_json):
        return
    click.echo(
        f"{counted(plan.missed, 'missed delivery')} of {plan.seen:,} listed since "
        f"{timestamp(plan.since)}"
    )
    if plan.passed:
        note(f"{plan.passed} of them were asked for already: left out")
    if plan.shown:
        rows = [[when(m.at), visible(m.event) or "-", visible(m.id)] for m in plan.shown]
        print_table(("at", "event", "id at the sender"), rows)
    more = plan.missed - plan.passed - len(plan.shown)
    if more > 0:
        click.echo(f"and {more:,} more")


def _report(place: Options, run: Recovery) -> None:
    if printed(run, as_json=place.as_json):
        return
    click.echo(
        f"{counted(run.missed, 'missed delivery')} since {timestamp(run.since)}{_parts(run)}"
    )
    if run.problem is not None:
        word = "stopped" if run.state != "done" else "not all"
        note(f"router: {word}: {visible(run.problem)}")
    if run.state != "done":
        note("what was asked for is remembered: run it again to go on")


def _parts(run: Recovery) -> str:
    words = (
        (run.requested, "requested: the sender delivers them again"),
        (run.stored, "fetched and stored"),
        (run.known, "known already"),
        (run.passed, "asked for before"),
        (run.failed, "failed"),
    )
    said = [f"{count:,} {word}" for count, word in words if count]
    return f": {'; '.join(said)}" if said else ""
