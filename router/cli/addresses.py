"""`router addresses`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from router.cli.endpoint_argument import endpoint_argument
from router.cli.generations import read_store, rules_to_read
from router.cli.options import Options, addressed, place_options
from router.cli.output import note, print_list, printed, when
from router.clock import SystemClock
from router.legible import visible
from router.operator.times import dates

if TYPE_CHECKING:
    from router.rules.ruleset import Ruleset
    from router.store.reads import StoreReads

LastReceived = tuple[int | None, int | None]
"""When an endpoint last had a delivery, and since when one is awaited."""


@click.command()
@endpoint_argument()
@place_options("dev", "store")
@click.option("--settings", is_flag=True, help="What to enter at each sender.")
def addresses(*, place: Options, endpoint: str | None, settings: bool) -> None:
    """
    The URLs to give to the senders; of one ENDPOINT all that is to be entered there.

    Of endpoints with `expect_every` it also says when the last delivery came. A note says so where
    no sender could call them.
    """
    place, ruleset = rules_to_read(place)
    if endpoint is not None:
        addressed(ruleset, endpoint)
    if not place.as_json:
        _note_unreachable(ruleset, dev=place.dev)
    if settings or endpoint is not None:
        _show_settings(place, ruleset, endpoint)
        return
    names = [e.name for e in ruleset.endpoints.values() if e.expect_every is not None]

    async def last(reader: "StoreReads") -> Mapping[str, LastReceived]:
        from router.serving.quiet_endpoints import FACTS, newest_of

        kept = await reader.recall(FACTS)
        return {
            n: (await newest_of(reader, n), (kept.get(FACTS + n) or {}).get("since")) for n in names
        }

    known: Mapping[str, LastReceived] = {}
    if names:
        known = read_store(ruleset.server.store, last, absent=known)
    rows = _rows(ruleset, known, SystemClock().now())
    labels = {e.name: ruleset.providers[e.provider].label for e in ruleset.endpoints.values()}
    columns = ("endpoint", "provider", "url", "last received")[: 4 if names else 3]
    print_list(
        [dates(row) for row in rows],
        columns,
        (
            (row["endpoint"], labels[row["endpoint"]], row["url"], _last_cell(row))[: len(columns)]
            for row in rows
        ),
        as_json=place.as_json,
    )


def _note_unreachable(ruleset: "Ruleset", *, dev: bool) -> None:
    """As `router doctor` says it, before somebody enters such an address at a sender."""
    from router.cli.doctor_offline import of_base_url

    found = of_base_url(ruleset.server.base_url, dev=dev)
    if found.verdict == "problem":
        note(f"{found.says}; {found.fix}")


def _show_settings(place: Options, ruleset: "Ruleset", only: str | None) -> None:
    """What to enter at the sender of each endpoint, or of one."""
    from router.cli.sender_settings import settings_of

    urls: dict[str, tuple[str, ...]] = {}
    for row in _rows(ruleset, {}, 0):
        urls[row["endpoint"]] = (*urls.get(row["endpoint"], ()), row["url"])
    found = {
        name: settings_of(ruleset, ruleset.endpoints[name], of)
        for name, of in urls.items()
        if only in (None, name)
    }
    if printed(found, as_json=place.as_json):
        return
    for number, (name, enter) in enumerate(found.items()):
        label = ruleset.providers[ruleset.endpoints[name].provider].label
        click.echo(f"{chr(10) if number else ''}{name}: {label}")
        for key, value in enter.rows():
            click.echo(f"  {key:<13}{visible(value)}")


def _rows(ruleset: "Ruleset", known: Mapping[str, LastReceived], now: int) -> list[dict[str, Any]]:
    base = urlsplit(ruleset.server.base_url)
    rows = []
    for endpoint in ruleset.endpoints.values():
        state: dict[str, Any] = {}
        if endpoint.expect_every is not None:
            last, since = known.get(endpoint.name, (None, None))
            waiting = since if last is None else last
            silent = waiting is not None and now - waiting > endpoint.expect_every
            state = {"last_received": last, "silent": silent}
        row = {"endpoint": endpoint.name, "provider": endpoint.shown_provider}
        rows += [
            {**row, "url": f"{base.scheme}://{base.netloc}{address}", **state}
            for address in endpoint.addresses
        ]
    return rows


def _last_cell(row: dict[str, Any]) -> str:
    if "silent" not in row:
        return ""
    at = row["last_received"]
    words = "never" if at is None else when(at)
    return f"{words}, SILENT" if row["silent"] else words
