"""The operator's pages, put together."""

import asyncio
import secrets
from collections.abc import Callable

from router import __version__
from router import log as logs
from router.clock import Clock
from router.operator.answers import ReloadState
from router.operator.protocol import Running, Verbs
from router.operator.questions import StoreQuestions
from router.rules.live import LiveRef
from router.web.admin.callers import Callers
from router.web.feed import Feed
from router.web.pages.assets import Assets
from router.web.pages.context import Services
from router.web.pages.frame import Frame, Standing
from router.web.pages.rendering import Renderer
from router.web.pages.sessions import Sessions


def standing(
    live: LiveRef, state: ReloadState, *, dev: bool = False, dry: bool = False
) -> Callable[[], Standing]:
    """How the router is now, for every page."""

    def now() -> Standing:
        return Standing(
            __version__,
            live.current.ruleset.generation,
            dev=dev,
            dry=dry,
            failed=None if state.ok else state.error or "the log says why",
            failed_at=None if state.ok else state.at,
        )

    return now


def services(
    operator: tuple[StoreQuestions, Verbs, Running],
    callers: Callers,
    live: LiveRef,
    *,
    feed: Feed,
    clock: Clock,
    standing: Callable[[], Standing],
) -> Services:
    """What all pages work with."""
    assets = Assets()
    questions, verbs, running = operator
    return Services(
        questions=questions,
        verbs=verbs,
        running=running,
        live=live,
        feed=feed,
        clock=clock,
        frame=Frame(Renderer(assets, mask=logs.REDACTOR.text), standing),
        name=lambda: f"web-{secrets.token_hex(8)}",
        callers=callers,
        sessions=Sessions(clock=clock, random=secrets.token_bytes),
        assets=assets,
        trying=asyncio.Lock(),
    )
