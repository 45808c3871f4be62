"""What a reload is made of in a serving router."""

import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from router.clock import Clock
from router.config import render_text
from router.log import Log
from router.metrics import Metrics
from router.operator.answers import ReloadState
from router.rules.live import LiveRef, LiveRuleset
from router.serving.reload import Reloader, ReloadSteps
from router.serving.service_manager import ServiceManager
from router.store.protocol import Store
from router.web.tls import Certificate
from router.wiring import reload_tests
from router.wiring.live import GenerationSource, generation_of
from router.wiring.rules import content_hash


class ReloadParts(NamedTuple):
    """
    Whatever a reload touches. `after` applies to stored jobs what a new generation says of them;
    `failed` is called after a reload that could not be done and so changed nothing.
    """

    rules: Path
    dev: bool
    source: GenerationSource
    live: LiveRef
    store: Store
    certificates: tuple[Certificate, ...]
    manager: ServiceManager
    after: Callable[[], Awaitable[object]]
    failed: Callable[[ReloadState], object]
    clock: Clock
    log: Log
    metrics: Metrics


def reloader(parts: ReloadParts) -> Reloader:
    """The one of this process."""
    folder = parts.live.current.ruleset.folder
    watched = tuple(file for one in parts.certificates for file in one.files)

    async def keep(new: LiveRuleset) -> None:
        await parts.store.keep_generation(generation_of(new.ruleset, parts.clock))

    async def after() -> object:
        for certificate, context in fresh:
            certificate.serve(context)
        return await parts.after()

    def built() -> LiveRuleset:
        live, warnings = parts.source.build()
        for warning in warnings:
            parts.log.warning(warning)
        fresh[:] = [(one, one.read()) for one in parts.certificates]
        return live

    def ended() -> None:
        parts.manager.ready()
        if not made.state.ok:
            parts.failed(made.state)
        failed = "" if made.state.ok else "; THE LAST RELOAD FAILED, see the log"
        parts.manager.status(f"rules {parts.live.current.ruleset.generation[:12]}{failed}")

    # The certificates that come into force with the generation built last.
    fresh: list[tuple[Certificate, ssl.SSLContext]] = []
    steps = ReloadSteps(
        fingerprint=lambda: content_hash(parts.rules, folder, watched),
        build=built,
        prove=lambda new: _prove(parts, new),
        keep=keep,
        after=after,
        render=lambda error: render_text(error.diagnostics),
        begins=parts.manager.reloading,
        ends=ended,
    )
    made = Reloader(steps, live=parts.live, clock=parts.clock, log=parts.log, metrics=parts.metrics)
    return made


async def _prove(parts: ReloadParts, new: LiveRuleset) -> None:
    # The file in force has a word too: else the tests could be switched off unseen.
    both = (parts.live.current.ruleset, new.ruleset)
    if any(ruleset.server.reload.require_tests for ruleset in both):
        await reload_tests.prove(
            parts.rules, new.ruleset.generation, environ=parts.source.environ, dev=parts.dev
        )
