"""`router audit`."""

import click

from router.cli.operator_access import ask
from router.cli.options import Options, place_options
from router.cli.output import print_list, when
from router.cli.paging import paged
from router.cli.redraw import watched
from router.clock import SystemClock
from router.model.selector import ABOUT
from router.operator.audit_text import asked_json, asked_words, origin
from router.operator.criteria import check_span
from router.store.time_text import instant

LIMIT = 50


@click.command()
@watched
@paged
@place_options("dev", "store", "admin", "server")
@click.option("--since", metavar="TIME", help=ABOUT["since"])
@click.option("--until", metavar="TIME", help=ABOUT["until"])
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=LIMIT,
    show_default=True,
    help="At most so many, the newest.",
)
def audit(*, place: Options, since: str | None, until: str | None, limit: int) -> None:
    """Who changed what, newest first: replays, cancels, reloads and the like, by people."""
    now = SystemClock().now()
    begin = None if since is None else instant(since, now)
    end = None if until is None else instant(until, now)
    check_span(begin, end)
    found = ask(place, lambda questions: questions.audit(begin, end, limit)).audit
    print_list(
        [asked_json(a) for a in found],
        ("at", "who", "from", "did", "count", "what"),
        ((when(a.at), a.who, origin(a), a.verb, str(a.count), asked_words(a)) for a in found),
        as_json=place.as_json,
    )
