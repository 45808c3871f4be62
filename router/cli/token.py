"""`router token`: who may look at a router, and change something, by a name of their own."""

import click

from router.cli.operator_access import act, ask
from router.cli.options import Options, place_options
from router.cli.output import note, print_answer, print_list, when
from router.cli.paging import paged
from router.cli.redraw import watched
from router.clock import SystemClock
from router.model.settings import ROLES, AdminRole
from router.operator.requests import TokenName, TokenRequest
from router.operator.token_answers import TokenRow
from router.store.time_text import deadline

PLACE = place_options("dev", "store", "admin", "server")
_COLUMNS = ("name", "role", "payloads", "kept", "made", "by", "until", "last used")
_KEPT = {"store": "store", "rules": "rules file", "file": "file beside the store"}
_NAME = click.argument("name", metavar="NAME")


@click.group()
def token() -> None:
    """
    Tokens by name: for people, dashboards and scripts. Each is one role's, and can be revoked.

    viewer: looks; operator: also replays, cancels, pauses, reloads; admin: also makes and revokes
    tokens.
    """


@token.command()
@_NAME
@click.option("--role", type=click.Choice(ROLES), required=True, help="What it may do.")
@click.option(
    "--bodies/--no-bodies", default=True, help="Whether it sees payloads and header values."
)
@click.option("--until", metavar="TIME", help="Its end: 90d (from now), or a time.")
@PLACE
def new(*, place: Options, name: str, role: AdminRole, bodies: bool, until: str | None) -> None:
    """
    Make a token and print its value.

    The store keeps only its hash, so nobody can show it again.
    """
    end = None if until is None else deadline(until, SystemClock().now())
    request = TokenRequest(name, role, bodies, end)
    made = act(place, lambda verbs: verbs.new_token(request))
    print_answer(made, made.token, as_json=place.as_json)
    note(f"a token of {name}, {role}: keep it, it is not shown again")


@token.command("list")
@watched
@paged
@PLACE
def list_(*, place: Options) -> None:
    """Every token, and when it was last used."""
    rows = ask(place, lambda questions: questions.tokens()).tokens
    print_list(rows, _COLUMNS, map(_cells, rows), as_json=place.as_json)


@token.command()
@_NAME
@PLACE
def revoke(*, place: Options, name: str) -> None:
    """
    Take a token back at once.

    The sessions of the pages that it began end too; other routers of a database follow within a
    second.
    """
    answer = act(place, lambda verbs: verbs.revoke_token(TokenName(name)))
    print_answer(answer, f"{name} revoked: it opens nothing any more", as_json=place.as_json)


def _cells(row: TokenRow) -> list[str]:
    return [
        row.name,
        row.role,
        "shown" if row.bodies else "hidden",
        _KEPT[row.kept],
        when(row.created_at),
        row.by or "-",
        when(row.until),
        when(row.used_at),
    ]
