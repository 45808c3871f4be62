"""What a reload is made of in a serving router."""

import ssl
from collections.abc import Awaitable, Callable, Sequence

from router.config import render_text
from router.operator.answers import ReloadState
from router.rules.live import LiveRef, LiveRuleset
from router.serving.reload import ReloadSteps
from router.serving.service_manager import ServiceManager
from router.web.tls import Certificate
from router.wiring import reload_tests
from router.wiring.live import GenerationSource
from router.wiring.rules import content_hash


def reload_steps(
    source: GenerationSource,
    live: LiveRef,
    *,
    keep: Callable[[LiveRuleset], Awaitable[None]],
    certificates: Sequence[Certificate],
    manager: ServiceManager,
    after: Callable[[], Awaitable[object]],
    failed: Callable[[ReloadState], object],
) -> ReloadSteps:
    """
    Those of this process. `keep` puts a generation in force for all nodes; `after` applies to
    stored jobs what it says of them; `failed` is called after a reload that could not be done and
    so changed nothing.
    """
    folder = live.current.ruleset.folder
    watched = tuple(file for one in certificates for file in one.files)

    async def prove(new: LiveRuleset) -> None:
        # The file in force has a word too: else the tests could be switched off unseen.
        both = (live.current.ruleset, new.ruleset)
        if any(ruleset.server.reload.require_tests for ruleset in both):
            generation = new.ruleset.generation
            await reload_tests.prove(
                source.path, generation, environ=source.environ, dev=source.dev
            )

    async def applied() -> object:
        for certificate, context in fresh:
            certificate.serve(context)
        return await after()

    def built() -> LiveRuleset:
        new = source.build()
        fresh[:] = [(one, one.read()) for one in certificates]
        return new

    def ended(state: ReloadState) -> None:
        manager.ready()
        if not state.ok:
            failed(state)
        problem = "" if state.ok else "; THE LAST RELOAD FAILED, see the log"
        manager.status(f"rules {live.current.ruleset.generation[:12]}{problem}")

    # The certificates that come into force with the generation built last.
    fresh: list[tuple[Certificate, ssl.SSLContext]] = []
    return ReloadSteps(
        fingerprint=lambda: content_hash(source.path, folder, watched),
        build=built,
        prove=prove,
        keep=keep,
        after=applied,
        render=lambda error: render_text(error.diagnostics),
        begins=manager.reloading,
        ends=ended,
    )
