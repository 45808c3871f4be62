"""
The Litestar application of the admin listener, put together.

Importing this takes half a second: it is imported when the public listener already answers.
"""

from collections.abc import Awaitable, Callable

from litestar import Litestar

from router.clock import Clock
from router.operator.protocol import Running, Verbs
from router.operator.questions import StoreQuestions
from router.serving.memory import keep_from_collector
from router.web.admin.api import admin_api
from router.web.admin.callers import Callers
from router.web.admin.changes import ChangeRoutes
from router.web.admin.live import FeedStore, LiveRoutes
from router.web.admin.reads import ListRoutes, RecordRoutes, ServerRoutes
from router.web.feed import Feed
from router.web.pages.application import PagesRouter
from router.web.pages.context import Services
from router.wiring.admin import masked


def api(
    operator: tuple[StoreQuestions, Verbs, Running],
    *,
    feed: Feed,
    ledger: FeedStore,
    render_metrics: Callable[[], Awaitable[bytes]],
    callers: Callers,
    clock: Clock,
    pages: Services,
) -> Litestar:
    """Everything that every router answers there."""
    questions, verbs, running = operator
    services = {
        "questions": questions,
        "verbs": verbs,
        "running": running,
        "feed": feed,
        "ledger": ledger,
        "render_metrics": render_metrics,
    }
    made = admin_api(
        [ListRoutes, RecordRoutes, ServerRoutes, ChangeRoutes, LiveRoutes],
        services,
        callers=callers,
        clock=clock,
        pages=PagesRouter(pages),
        mask=masked,
    )
    keep_from_collector()
    return made
