"""`router addresses`: the URLs, and what else to enter at a sender: the secret, the events."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
import msgspec

from router.cli.endpoint_argument import endpoint_argument
from router.cli.generations import read_store, rules_to_read
from router.cli.options import Options, addressed, place_options
from router.cli.output import note, print_list, printed, when
from router.cli.wanted_events import WantedEvents, wanted
from router.clock import SystemClock
from router.legible import visible
from router.operator.times import dates

if TYPE_CHECKING:
    from router.model.settings import Endpoint, SecretRef
    from router.providers import Provider
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


_TYPES = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "multipart": "multipart/form-data",
    "xml": "application/xml",
    "text": "any",
}
_SAME_TEXT = "a long random text: the same here and at the sender"
_WHOSE = {
    "hmac": _SAME_TEXT,
    "token": _SAME_TEXT,
    "basic": "user:password, as the sender is given them",
    "python": _SAME_TEXT,
    "introspection": "what the token endpoint knows this router by",
}
_PUBLIC = "the public key that the sender shows"


class SenderSettings(msgspec.Struct, frozen=True):
    """
    What to enter there. `secret` says where it is from, `secret_in` where it goes here; both None
    where nothing is verified. `events` are in the words of the sender's settings screen; `remarks`
    say more of them.
    """

    url: tuple[str, ...]
    content_type: tuple[str, ...]
    secret: str | None
    secret_in: tuple[str, ...]
    events: tuple[str, ...]
    remarks: tuple[str, ...]

    def rows(self) -> list[tuple[str, str]]:
        """Name and value, for people."""
        rows = [("url", url) for url in self.url]
        rows.append(("content type", " or ".join(self.content_type)))
        rows.append(("secret", self.secret or "none: everybody is let in"))
        rows += [("put it into", place) for place in self.secret_in]
        rows += [("events", event) for event in self.events]
        return rows + [("", remark) for remark in self.remarks]


def settings_of(ruleset: "Ruleset", endpoint: "Endpoint", urls: tuple[str, ...]) -> SenderSettings:
    """For one endpoint, by the rules that want something of it."""
    provider = ruleset.providers[endpoint.provider]
    found = wanted(ruleset, endpoint)
    return SenderSettings(
        url=urls,
        content_type=tuple(_TYPES[kind] for kind in provider.definition.reads),
        secret=None if endpoint.unsigned else _secret(provider),
        secret_in=tuple(_place(ruleset.secrets[name]) for name in endpoint.secrets),
        events=tuple(provider.setting(name) for name in found.names),
        remarks=tuple(_remarks(endpoint, provider, found)),
    )


def _secret(provider: "Provider") -> str:
    """As the definition says it, else by the way of proof."""
    notes = (note for note in provider.definition.notes if note.startswith("the secret"))
    said = next(notes, None)
    if said is not None:
        return said.removeprefix("the secret is ").removeprefix("the secrets are ")
    return _WHOSE.get(provider.definition.verify.scheme, _PUBLIC)


def _place(secret: "SecretRef") -> str:
    if secret.env is not None:
        return f"the variable {secret.env} (secrets.{secret.name})"
    if secret.file is not None:
        return f"the file {secret.file} (secrets.{secret.name})"
    return f"the credential {secret.credential} (secrets.{secret.name})"


def _remarks(endpoint: "Endpoint", provider: "Provider", found: WantedEvents) -> list[str]:
    remarks = []
    if found.every:
        remarks.append(f"all events: rule {', '.join(found.every)} names none")
    elif not found.names:
        remarks.append("no rule wants any event of it yet")
    if provider.definition.api is not None and provider.definition.api.subscribe is not None:
        call = f"router subscriptions create {endpoint.name} --from-rules"
        remarks.append(f"`{call}` subscribes to them by the sender's API")
    return remarks
