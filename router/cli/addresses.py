"""`router addresses`."""

from urllib.parse import urlsplit

import click

from router.cli.output import print_json, print_table
from router.cli.place import Place, place_options


@click.command()
@place_options("dev")
def addresses(*, place: Place) -> None:
    """The URLs to give to the senders."""
    ruleset = place.ruleset()
    base = urlsplit(ruleset.server.base_url)
    rows = [
        {
            "endpoint": endpoint.name,
            "provider": endpoint.provider,
            "url": f"{base.scheme}://{base.netloc}{address}",
        }
        for endpoint in ruleset.endpoints.values()
        for address in endpoint.addresses
    ]
    if place.as_json:
        print_json(rows)
    else:
        labels = {e.name: ruleset.providers[e.provider].label for e in ruleset.endpoints.values()}
        cells = [[row["endpoint"], labels[row["endpoint"]], row["url"]] for row in rows]
        print_table(("endpoint", "provider", "url"), cells)
