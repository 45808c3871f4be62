"""The operator's window, put together."""

import secrets
from collections.abc import Callable, Sequence

from router import __version__
from router import log as logs
from router.clock import Clock
from router.rules.live import LiveRef
from router.serving.verbs import ReloadState
from router.web.admin.call import Route
from router.web.admin.callers import Callers
from router.web.admin.reading import Questions
from router.web.feed import Feed
from router.web.pages.assets import Assets
from router.web.pages.context import Desk
from router.web.pages.deliveries import DeliveryPages
from router.web.pages.frame import Frame, Standing
from router.web.pages.jobs import JobPages
from router.web.pages.overview import OverviewPages
from router.web.pages.rendering import Renderer
from router.web.pages.sessions import Sessions
from router.web.pages.trying import TryPages
from router.web.pages.window import PagesApp
from router.web.ports import OperatorPort


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


def window(
    reading: Questions,
    operator: OperatorPort,
    known: Callers,
    live: LiveRef,
    *,
    feed: Feed,
    clock: Clock,
    standing: Callable[[], Standing],
    routes: Sequence[Route] = (),
) -> PagesApp:
    """All pages; `routes` are those that the API has."""
    assets = Assets()
    frame = Frame(Renderer(assets, mask=logs.REDACTOR.text), standing)
    desk = Desk(
        reading, operator, live, feed, clock, frame, lambda: f"web-{secrets.token_hex(8)}", routes
    )
    groups = (DeliveryPages(desk), JobPages(desk), OverviewPages(desk), TryPages(desk))
    return PagesApp(
        [view for group in groups for view in group.views()],
        callers=known,
        sessions=Sessions(clock=clock, random=secrets.token_bytes),
        frame=frame,
        assets=assets,
    )
