"""One run of `router listen`: find the router and the target, then forward deliveries."""

import asyncio
import random
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import httpx
import msgspec
from rich.console import Console

from router.cli.admin import AdminClient, trusting
from router.cli.listening.checkpoint import Checkpoint, path_for
from router.cli.listening.condition import ListenCondition
from router.cli.listening.forwarder import Forwarder, ForwardOptions, OnError, until_first
from router.cli.listening.keys import KeyCommands, browse, reading
from router.cli.listening.plain import JsonView, PlainView
from router.cli.listening.saving import saver
from router.cli.listening.screen import ScreenView
from router.cli.listening.source import Backoff, DeliverySource, SignalWatcher
from router.cli.listening.target import LocalTarget, checked, unreachable
from router.cli.options import Options
from router.cli.output import note
from router.clock import SystemClock
from router.errors import UsageError
from router.providers import builtin
from router.store.time_text import instant
from router.suggest import did_you_mean


class ListenOptions(msgspec.Struct, frozen=True):
    """What the command line says."""

    endpoints: tuple[str, ...]
    to: str
    events: tuple[str, ...]
    where: str | None
    var: dict[str, Any] | None
    since: str | None
    on_error: OnError
    once: bool
    save: Path | None
    checkpoint: Path | None
    timeout: int


def run(place: Options, options: ListenOptions) -> int:
    """
    Listen until the end; the exit code.

    Raises:
        click.ClickException: the router does not answer now (later it may come and go), or another
            listener has the checkpoint.
        UsageError: it has no such endpoint, or an option is wrong.
    """
    options = msgspec.structs.replace(options, to=checked(options.to))
    with AdminClient.of(place) as client:
        status = client.status()
    for name in options.endpoints:
        if name not in status.endpoints:
            has = f"it has: {', '.join(status.endpoints) or 'none'}"
            hint = did_you_mean(name, status.endpoints) or has
            raise UsageError(f"the router has no endpoint {name!r}; {hint}")
    condition = _condition(place, options)
    # One checkpoint for each server, filter and target.
    names = (sorted(set(options.endpoints)), sorted(set(options.events)))
    bound = (options.var,) if options.var else ()
    filters = msgspec.json.encode((*names, options.where, *bound)).decode()
    server, store = client.base_url, status.store.path
    path = options.checkpoint or path_for(place.environ, server, store, filters, options.to)
    with Checkpoint(path, server=server, store=store) as checkpoint:
        forwards = ForwardOptions(
            _since(options, checkpoint),
            options.on_error,
            options.once,
            condition,
            None if options.save is None else saver(options.save),
        )
        return asyncio.run(_listen(place, options, client, checkpoint, forwards))


def _condition(place: Options, options: ListenOptions) -> ListenCondition | None:
    if options.where is None:
        if options.var:
            raise UsageError("--var gives a value to --where, which is left out")
        return None
    source = click.get_current_context().get_parameter_source("rules")
    if place.server is not None and source is click.core.ParameterSource.DEFAULT:
        # The file here need not be the one there.
        return ListenCondition(options.where, builtin(), bound=options.var)
    _, ruleset = place.beside()
    return ListenCondition(
        options.where,
        {**builtin(), **ruleset.providers},
        variables=ruleset.variables,
        defines=ruleset.defines,
        bound=options.var,
    )


def _since(options: ListenOptions, checkpoint: Checkpoint) -> str:
    """Where the first start begins, as the router takes it."""
    text = options.since or "now"
    since = text if text in ("now", "start") else str(instant(text, SystemClock().now()))
    if checkpoint.cursor is not None:
        last = f" after {checkpoint.delivery}" if checkpoint.delivery else ""
        note(f"continuing{last}; the checkpoint is {checkpoint.path}")
        if options.since is not None:
            note("--since is for the first start; remove that file to start again")
    return since


async def _listen(
    place: Options,
    options: ListenOptions,
    server: AdminClient,
    checkpoint: Checkpoint,
    forwards: ForwardOptions,
) -> int:
    terminal = not place.as_json and sys.stdout.isatty() and sys.stdin.isatty()
    screen = ScreenView(Console(highlight=False), options.to) if terminal else None
    # trust_env off: neither the token nor what was received goes through a proxy by accident.
    async with (
        httpx.AsyncClient(
            base_url=server.base_url,
            auth=server.auth,
            timeout=60.0,
            trust_env=False,
            verify=server.base_url.startswith("https:") and trusting(server.cert),
        ) as admin,
        httpx.AsyncClient(
            timeout=options.timeout,
            trust_env=False,
            verify=options.to.startswith("https:") and trusting(None),
        ) as local,
    ):
        with screen or nullcontext():
            view = screen or (JsonView() if place.as_json else PlainView())
            rng = random.Random()  # noqa: S311 - jitter
            source = DeliverySource(
                admin, endpoints=frozenset(options.endpoints), events=frozenset(options.events)
            )
            forwarder = Forwarder(
                source,
                SignalWatcher(source, backoff=Backoff(rng), on_change=view.connection),
                LocalTarget(options.to, local, SystemClock()),
                checkpoint,
                view,
                options=forwards,
                clock=SystemClock(),
                backoff=lambda: Backoff(rng, longest_s=10.0),
            )
            if (down := await unreachable(options.to)) is not None:
                view.target_down(options.to, down)
            if screen is None:
                return await forwarder.run()
            pages = f"{server.base_url}/deliveries/"
            keys = KeyCommands(screen, forwarder, options.to, pages, browse(place.environ))
            with reading(keys.pressed):
                async with until_first(forwarder.run(), keys.ended.wait()) as (running, _):
                    return running.result() if running.done() else 0
