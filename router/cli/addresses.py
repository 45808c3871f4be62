"""`router addresses`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from router.cli.generations import rules_to_read
from router.cli.options import Options, place_options
from router.cli.output import moment, print_json, print_table
from router.clock import SystemClock

if TYPE_CHECKING:
    from router.rules.ruleset import Ruleset

Heard = tuple[int | None, int | None]
"""When an endpoint last had a delivery, and since when it has been waited for."""


@click.command()
@place_options("dev", "store")
def addresses(*, place: Options) -> None:
    """
    The URLs to give to the senders.

    Of endpoints with `expect_every` it also says when they last heard something.
    """
    place, ruleset = rules_to_read(place)
    rows = _rows(ruleset, _heard_of(ruleset), SystemClock().now())
    if place.as_json:
        print_json(rows)
        return
    labels = {e.name: ruleset.providers[e.provider].label for e in ruleset.endpoints.values()}
    cells = [[row["endpoint"], labels[row["endpoint"]], row["url"]] for row in rows]
    columns: tuple[str, ...] = ("endpoint", "provider", "url")
    if any("silent" in row for row in rows):
        columns = (*columns, "last received")
        cells = [[*cell, _heard(row)] for cell, row in zip(cells, rows, strict=True)]
    print_table(columns, cells)


def _rows(ruleset: "Ruleset", heard: Mapping[str, Heard], now: int) -> list[dict[str, Any]]:
    base = urlsplit(ruleset.server.base_url)
    rows = []
    for endpoint in ruleset.endpoints.values():
        told: dict[str, Any] = {}
        if endpoint.expect_every is not None:
            last, since = heard.get(endpoint.name, (None, None))
            waiting = since if last is None else last
            silent = waiting is not None and now - waiting > endpoint.expect_every
            told = {"last_received": last, "silent": silent}
        for address in endpoint.addresses:
            row = {"endpoint": endpoint.name, "provider": endpoint.provider}
            rows.append({**row, "url": f"{base.scheme}://{base.netloc}{address}", **told})
    return rows


def _heard(row: dict[str, Any]) -> str:
    if "silent" not in row:
        return ""
    at = row["last_received"]
    words = "never" if at is None else moment(at)
    return f"{words}, SILENT" if row["silent"] else words


def _heard_of(ruleset: "Ruleset") -> Mapping[str, Heard]:
    """What the store knows of the endpoints that should not be silent."""
    import asyncio

    names = [e.name for e in ruleset.endpoints.values() if e.expect_every is not None]
    if not names or not Path(ruleset.server.store).exists():
        return {}
    return asyncio.run(_read(ruleset.server.store, names))


async def _read(path: str, names: list[str]) -> Mapping[str, Heard]:
    from router.serving.silent_endpoints import FACTS, newest_of
    from router.store.sqlite.reader import open_reader

    reader = open_reader(path)
    try:
        kept = await reader.recall(FACTS)
        return {
            n: (await newest_of(reader, n), (kept.get(FACTS + n) or {}).get("since")) for n in names
        }
    finally:
        await reader.close()
