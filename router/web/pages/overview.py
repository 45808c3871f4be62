"""The first page: everything at one glance, and what needs a person first."""

from urllib.parse import urlencode

from litestar import Controller

from router.operator.overview_answer import Attention
from router.web.admin.request import Given
from router.web.pages.charts import bars, figures, rows
from router.web.pages.context import PageContext
from router.web.pages.request import Shown, page

SHOWN = 20
SLOWEST_SHOWN = 5
_CLOSER = {
    "held": "/jobs", "reload": "/reload", "store": "#store", "dead": "/dead", "node": "/nodes",
    "refused": "/refused", "secret": "/refused", "check": "/reload", "clock": "#store",
}  # fmt: skip


class OverviewPages(Controller):
    """What came, failed and waits."""

    @page("/")
    async def overview(self, context: Given[PageContext]) -> Shown:
        """As it is now."""
        found = await context.questions.overview()
        return context.page(
            "overview.html",
            found=found,
            attention=[(one, closer(one)) for one in found.attention],
            charts=[
                ("the last hour", figures(found.hour)),
                ("the last 24 hours", figures(found.day)),
            ],
            counted=rows(found.day),
            endpoints=[
                (one, bars("deliveries", "came", one.hourly, 3_600))
                for one in found.endpoints[:SHOWN]
            ],
            targets=[
                (one, bars("failed attempts", "failed", one.hourly_failed, 3_600))
                for one in found.targets[:SHOWN]
            ],
            slowest=found.slowest[:SLOWEST_SHOWN],
            refusals=found.refusals[:SHOWN],
        )


def closer(one: Attention) -> str:
    """The page that looks closer at what needs a person."""
    if (path := _CLOSER.get(one.kind)) is not None:
        return path
    path, field = ("/deliveries", "endpoint") if one.kind == "endpoint" else ("/targets", "find")
    return f"{path}?{urlencode({field: one.name or ''})}"
