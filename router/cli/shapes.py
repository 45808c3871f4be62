"""`router shapes`: what deliveries have been like, for `router check`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
import yaml

from router.cli.completion_values import endpoint_names
from router.cli.generations import rules_to_read
from router.cli.open_store import read_store
from router.cli.options import Options, endpoint_among, place_options
from router.cli.output import note, print_list
from router.config.learned_shapes import FOLDER
from router.model.delivery import Delivery
from router.operator.search import Search
from router.rules.ruleset import Ruleset
from router.store.values import Selector
from router.typing.observed import PayloadObserver

if TYPE_CHECKING:
    from router.store.reads import StoreReads

LAST = 4_000
_COLUMNS = ("endpoint", "deliveries", "events", "file")
_HEADER = """\
# Fields of the last {deliveries:,} deliveries to `{endpoint}`, {first} to {last}.
# `router shapes learn` writes this for `router check`. Of values it has names of states alone.
"""


class LearnedFile(msgspec.Struct, frozen=True):
    """How much an endpoint has taught, and the file that holds it; None: nothing."""

    endpoint: str
    deliveries: int
    events: int
    file: str | None


@click.group()
def shapes() -> None:
    """What deliveries have been like."""


@shapes.command()
@click.option(
    "--endpoint",
    "endpoints",
    multiple=True,
    metavar="NAME",
    shell_complete=endpoint_names,
    help="Learn of this one only; repeatable.",
)
@click.option(
    "--last",
    type=click.IntRange(1, 1_000_000),
    default=LAST,
    show_default=True,
    metavar="N",
    help="Of so many of the newest deliveries to each endpoint.",
)
@place_options("dev", "store")
def learn(*, place: Options, endpoints: tuple[str, ...], last: int) -> None:
    """
    Write shapes/ENDPOINT.yaml beside the rules file: the fields of stored payloads, and their
    types. Of values only names of states are written, none of people. The store is only read.
    """
    options, ruleset = rules_to_read(place)
    names = [endpoint_among(ruleset.addressed, name).name for name in endpoints]
    folder = options.rules.parent / FOLDER
    found = [_written(ruleset, name, last, folder) for name in names or ruleset.addressed]
    print_list(found, _COLUMNS, map(_cells, found), as_json=place.as_json)
    if not any(one.file for one in found):
        note("nothing has been received yet that could be learned from")


def _cells(one: LearnedFile) -> list[str]:
    return [one.endpoint, f"{one.deliveries:,}", f"{one.events:,}", one.file or "-"]


def _written(ruleset: Ruleset, endpoint: str, last: int, folder: Path) -> LearnedFile:
    """What this endpoint teaches, written into its file."""
    lesson = Lesson(ruleset, endpoint)

    async def reading(reader: "StoreReads") -> None:
        search = Search(reader, Selector(endpoint=endpoint, limit=last), ruleset, jobs=False)
        async for stored in search.newest():
            lesson.take(stored.delivery)

    read_store(ruleset.server.store, reading, absent=None)
    if not lesson.deliveries:
        return LearnedFile(endpoint, 0, 0, None)
    folder.mkdir(exist_ok=True)
    file = folder / f"{endpoint}.yaml"
    file.write_text(lesson.text(), "utf-8")
    return LearnedFile(endpoint, lesson.deliveries, len(lesson.observer.events), str(file))


class Lesson:
    """What the deliveries to one endpoint teach, newest first; what it holds is bounded."""

    def __init__(self, ruleset: Ruleset, endpoint: str) -> None:
        self.observer = PayloadObserver()
        self.deliveries = 0
        self._endpoint = ruleset.endpoints[endpoint]
        self._providers = ruleset.providers
        self._first = self._last = 0

    def take(self, delivery: Delivery) -> None:
        """One more, unless nobody proved it, nobody could read it, or it has come before."""
        proved = delivery.verified_by is not None or self._endpoint.unsigned
        provider = self._providers.get(delivery.provider)
        if not proved or provider is None or delivery.replay_of or delivery.damaged:
            return
        reading = provider.read_stored(delivery)
        if reading.state != "routed" or delivery.state in ("unparsed", "too_complex"):
            return
        for event in reading.events:
            self.observer.add(event.name, event.payload)
        self.deliveries += 1
        self._first = delivery.received_at
        self._last = self._last or delivery.received_at

    def text(self) -> str:
        """The file."""
        first, last = map(_day, (self._first, self._last))
        header = _HEADER.format(
            deliveries=self.deliveries, endpoint=self._endpoint.name, first=first, last=last
        )
        data = {"payloads": list(self.observer.payloads())}
        return header + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)


def _day(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).date().isoformat()
