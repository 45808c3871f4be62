"""
The Litestar application of the admin listener, put together.

Importing this takes half a second: it is imported when the public listener already answers.
"""

import asyncio
import gc
import secrets
from collections.abc import Awaitable, Callable

from litestar import Litestar

from router import __version__
from router import log as logs
from router.clock import Clock
from router.model.delivery import Delivery
from router.operator.answers import ReloadState
from router.operator.protocol import Recovering, Running
from router.operator.questions import StoreQuestions
from router.operator.verbs import StoreVerbs
from router.rules.live import LiveRef
from router.rules.ruleset import Ruleset
from router.store.reads import StoreReads
from router.web.admin.api import admin_api
from router.web.admin.callers import Callers
from router.web.admin.changes import ChangeRoutes
from router.web.admin.following import FollowRoutes
from router.web.admin.reads import ListRoutes, RecordRoutes, ServerRoutes
from router.web.admin.recovery import RecoveryRoutes
from router.web.pages.application import PagesRouter
from router.web.pages.assets import Assets
from router.web.pages.context import Services
from router.web.pages.dead_letters import DeadLetterCount
from router.web.pages.frame import Frame, RouterStatus
from router.web.pages.rendering import Renderer
from router.web.pages.sessions import Sessions
from router.web.signal import Signal
from router.wiring.admin import masked

CONTROLLERS = (ListRoutes, RecordRoutes, ServerRoutes, ChangeRoutes, RecoveryRoutes, FollowRoutes)


def api(
    pages: Services,
    recoveries: Recovering,
    *,
    reads: StoreReads,
    render_metrics: Callable[[], Awaitable[bytes]],
) -> Litestar:
    """Everything that every router answers there."""
    made = admin_api(
        CONTROLLERS,
        {
            "questions": pages.questions,
            "verbs": pages.verbs,
            "running": pages.running,
            "recoveries": recoveries,
            "signal": pages.signal,
            "store": reads,
            "live": pages.live,
            "render_metrics": render_metrics,
        },
        callers=pages.callers,
        clock=pages.clock,
        pages=PagesRouter(pages),
        mask=masked,
    )
    gc.freeze()  # it stays, too: the collector need not look through it
    return made


def standing(
    live: LiveRef, state: ReloadState, *, dev: bool = False, dry: bool = False
) -> Callable[[], RouterStatus]:
    """How the router is now, for every page."""

    def now() -> RouterStatus:
        return RouterStatus(
            __version__,
            live.current.ruleset.generation,
            dev=dev,
            dry=dry,
            failed=None if state.ok else state.error or "the log says why",
            failed_at=None if state.ok else state.at,
        )

    return now


def page_services(
    operator: tuple[StoreQuestions, StoreVerbs, Running],
    callers: Callers,
    live: LiveRef,
    *,
    signal: Signal,
    clock: Clock,
    standing: Callable[[], RouterStatus],
) -> Services:
    """What all pages work with."""
    assets = Assets()
    questions, verbs, running = operator
    dead = DeadLetterCount(questions.dead_count, clock)
    renderer = Renderer(assets, mask=logs.REDACTOR.text)
    return Services(
        questions=questions,
        verbs=verbs,
        running=running,
        live=live,
        signal=signal,
        clock=clock,
        frame=Frame(renderer, standing, lambda: dead.known, shared=questions.shared),
        name=lambda: f"web-{secrets.token_hex(8)}",
        callers=callers,
        sessions=Sessions(clock=clock, random=secrets.token_bytes),
        assets=assets,
        trying=asyncio.Lock(),
        make_test=_made_test,
        dead=dead,
    )


def _made_test(ruleset: Ruleset, delivery: Delivery) -> str:
    """A test of the rules; what it is tried with is imported when somebody wants one."""
    from router.rehearsal import TrialRunner  # noqa: PLC0415 - a server seldom needs it
    from router.rehearsal.made_test import as_text, expected, sending_of, test_of  # noqa: PLC0415

    sending = sending_of(ruleset, delivery, exact=False)
    runner = TrialRunner(ruleset, environ={}, random_bytes=secrets.token_bytes)
    expect = expected(runner, sending, delivery.received_at)
    return as_text(test_of(sending, sending.payload, expect, delivery))
