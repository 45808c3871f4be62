"""`router listen`: what arrives at a running router, on a developer's own machine."""

import asyncio
import random
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from router.cli.completion_values import endpoint_names, event_names
from router.cli.listening.checkpoint import Checkpoint, path_for
from router.cli.options import Options, place_options
from router.cli.output import note
from router.clock import SystemClock
from router.errors import UsageError
from router.store.time_text import instant
from router.suggest import did_you_mean

if TYPE_CHECKING:
    from router.cli.listening.condition import ListenCondition
    from router.cli.listening.forwarder import Forwarder, ListenView
    from router.cli.listening.screen import Screen


class ListenOptions(msgspec.Struct, frozen=True):
    """What the command line asks for."""

    endpoints: tuple[str, ...]
    to: str
    events: tuple[str, ...]
    where: str | None
    since: str | None
    on_error: str
    once: bool
    save: Path | None
    checkpoint: Path | None
    timeout: int


class ListenedRouter(msgspec.Struct, frozen=True):
    """
    The router to listen to: its admin door, what opens it, the store it holds, and the certificate
    of a door with TLS on this machine.
    """

    url: str
    headers: dict[str, str]
    store: str
    cert: str | None


@click.command()
@click.argument("endpoints", nargs=-1, shell_complete=endpoint_names)
@place_options("dev", "store", "admin", "server")
@click.option("--to", required=True, metavar="URL", help="Where to: http://localhost:3000/hook.")
@click.option(
    "--endpoint", "more_endpoints", metavar="NAME", multiple=True, help="As the argument ENDPOINTS."
)
@click.option(
    "--event",
    "events",
    metavar="NAME",
    multiple=True,
    shell_complete=event_names,
    help="Only deliveries with an event of this name; may be repeated.",
)
@click.option("--where", metavar="EXPR", help="Only where an event meets this condition.")
@click.option(
    "--since",
    metavar="TIME",
    help="The first start begins here: now (default), start, 2h (ago) or a time.",
)
@click.option(
    "--on-error",
    type=click.Choice(("continue", "stop", "retry")),
    default="continue",
    show_default=True,
    help="What an answer other than 2xx leads to. A target that is not there is waited for.",
)
@click.option("--once", is_flag=True, help="Forward what is there, then end.")
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="DIR", help="Keep deliveries as files."
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep the place here, not under the user's state folder.",
)
@click.option(
    "--timeout", type=click.IntRange(1, 3600), default=30, show_default=True, help="In seconds."
)
@click.pass_context
def listen(
    ctx: click.Context, /, *, place: Options, more_endpoints: tuple[str, ...], **given: Any
) -> None:
    """
    Forward deliveries of a running router to --to: the same bytes and headers, in order.

    It goes on where it was ended, whatever ended it, and connects again by itself. What the local
    target answers changes nothing in the router.
    """
    from router.cli.listening.target import checked

    given["endpoints"] = (*given["endpoints"], *more_endpoints)
    wanted = ListenOptions(**{**given, "to": checked(given["to"])})
    server = _server(place, wanted)
    condition = _condition(place, wanted)
    path = wanted.checkpoint or path_for(place.environ, *_identity(server, wanted))
    with Checkpoint(path, server=server.url, store=server.store) as checkpoint:
        since = _since(wanted, checkpoint)
        code = asyncio.run(_listen(place, wanted, server, checkpoint, (since, condition)))
    if code:
        ctx.exit(code)


def _server(place: Options, wanted: ListenOptions) -> ListenedRouter:
    """
    The router, which must answer now: later it may come and go.

    Raises:
        click.ClickException: it does not, or not to us.
        UsageError: it has no such endpoint.
    """
    from router.cli.admin import AdminClient

    with AdminClient.of(place) as door:
        status = door.status()
        url, headers = door.address
        cert = door.cert
    _judge_names(wanted.endpoints, status.endpoints)
    return ListenedRouter(url, headers, status.store.path, cert)


def _judge_names(names: tuple[str, ...], known: list[str]) -> None:
    """A listener for a misspelt endpoint would hear nothing, for ever. Raises UsageError."""
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            has = f"it has: {', '.join(known) or 'none'}"
            raise UsageError(f"the router has no endpoint {name!r}; {hint or has}")


def _identity(server: ListenedRouter, wanted: ListenOptions) -> tuple[str, ...]:
    """One checkpoint for each server, filter and target."""
    names = (sorted(set(wanted.endpoints)), sorted(set(wanted.events)))
    filters = msgspec.json.encode((*names, wanted.where)).decode()
    return (server.url, server.store, filters, wanted.to)


def _condition(place: Options, wanted: ListenOptions) -> "ListenCondition | None":
    if wanted.where is None:
        return None
    from router.cli.listening.condition import ListenCondition
    from router.providers import builtin

    source = click.get_current_context().get_parameter_source("rules")
    named = source is not click.core.ParameterSource.DEFAULT
    if place.server is not None and not named:  # the file here need not be the one there
        return ListenCondition(wanted.where, builtin())
    _, ruleset = place.beside()
    return ListenCondition(
        wanted.where,
        {**builtin(), **ruleset.providers},
        variables=ruleset.variables,
        defines=ruleset.defines,
    )


def _since(wanted: ListenOptions, checkpoint: Checkpoint) -> str:
    """Where the first start begins, as the router takes it."""
    text = wanted.since or "now"
    since = text if text in ("now", "start") else str(instant(text, SystemClock().now()))
    if checkpoint.cursor is not None:
        last = f" behind {checkpoint.delivery}" if checkpoint.delivery else ""
        note(f"going on{last}; the place is kept in {checkpoint.path}")
        if wanted.since is not None:
            note("--since is for the first start; remove that file to begin anew")
    return since


async def _listen(
    place: Options,
    wanted: ListenOptions,
    server: ListenedRouter,
    checkpoint: Checkpoint,
    rest: "tuple[str, ListenCondition | None]",
) -> int:
    import httpx

    from router.cli.admin import trusting
    from router.cli.listening.target import unreachable

    since, condition = rest
    # trust_env off: neither the token nor what was received goes through a proxy unasked.
    async with (
        httpx.AsyncClient(
            base_url=server.url,
            headers=server.headers,
            timeout=60.0,
            trust_env=False,
            verify=server.url.startswith("https:") and trusting(server.cert),
        ) as admin,
        httpx.AsyncClient(
            timeout=wanted.timeout,
            trust_env=False,
            verify=wanted.to.startswith("https:") and trusting(None),
        ) as local,
    ):
        screen = None if place.as_json or not _on_terminal() else _screen(wanted.to)
        with screen or nullcontext():
            view = screen or _plain(place)
            listener = _listener(view, wanted, checkpoint, since, (admin, local))
            listener.condition = condition
            down = await unreachable(wanted.to)
            if down is not None:
                view.target_down(wanted.to, down)
            if wanted.save is not None:
                from router.cli.listening.saving import saver

                listener.save = saver(wanted.save)
            if screen is None:
                return await listener.run()
            return await _with_keys(screen, listener, wanted, server, place.environ)


def _listener(
    view: "ListenView", wanted: ListenOptions, checkpoint: Checkpoint, since: str, clients: Any
) -> "Forwarder":
    from router.cli.listening.forwarder import Forwarder, ForwardOptions
    from router.cli.listening.source import DeliverySource, Ears, Waits
    from router.cli.listening.target import LocalTarget

    rng = random.Random()  # noqa: S311 - jitter
    clock = SystemClock()
    admin, local = clients
    source = DeliverySource(
        admin, endpoints=frozenset(wanted.endpoints), events=frozenset(wanted.events)
    )
    return Forwarder(
        source,
        Ears(source, waits=Waits(rng), told=view.connection),
        LocalTarget(wanted.to, local, clock),
        checkpoint,
        view,
        wish=msgspec.convert(
            {"since": since, "on_error": wanted.on_error, "once": wanted.once}, ForwardOptions
        ),
        clock=clock,
        waits=lambda: Waits(rng, longest_s=10.0),
    )


def _on_terminal() -> bool:
    return sys.stdout.isatty() and sys.stdin.isatty()


def _plain(place: Options) -> "ListenView":
    from router.cli.listening.plain import Json, Plain

    return Json() if place.as_json else Plain()


def _screen(to: str) -> "Screen":
    from rich.console import Console

    from router.cli.listening.screen import Screen

    return Screen(Console(highlight=False), to)


async def _with_keys(
    screen: "Screen",
    listener: "Forwarder",
    wanted: ListenOptions,
    server: ListenedRouter,
    environ: Mapping[str, str],
) -> int:
    from router.cli.listening.keys import KeyCommands, browse, reading

    page: Callable[[str], str] = lambda delivery: f"{server.url}/deliveries/{delivery}"  # noqa: E731
    keys = KeyCommands(screen, listener, to=wanted.to, page=page, browse=browse(environ))
    running = asyncio.ensure_future(listener.run())
    ending = asyncio.ensure_future(keys.ended.wait())
    try:
        with reading(keys.pressed):
            await asyncio.wait({running, ending}, return_when=asyncio.FIRST_COMPLETED)
            return running.result() if running.done() else 0
    finally:
        for task in (running, ending):
            task.cancel()
        await asyncio.gather(running, ending, return_exceptions=True)
