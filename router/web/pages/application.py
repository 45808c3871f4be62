"""All pages, as a part of the admin application."""

import msgspec
from litestar import Controller, Router
from litestar.di import Provide
from litestar.handlers import BaseRouteHandler

from router.web.admin.request import Connection
from router.web.pages.compare import ComparePages
from router.web.pages.context import PageContext, Services
from router.web.pages.deliveries import DeliveryPages
from router.web.pages.guard import PagesAdmission
from router.web.pages.jobs import JobPages
from router.web.pages.login import Login, StaticFiles
from router.web.pages.overview import OverviewPages
from router.web.pages.request import FORM_MAX, PageRequest, form_of
from router.web.pages.router_pages import RouterPages
from router.web.pages.tokens import TokenPages
from router.web.pages.try_condition import TryPages

HANDLERS: list[type[Controller]] = [
    *(
        OverviewPages,
        DeliveryPages,
        JobPages,
        ComparePages,
        TryPages,
        RouterPages,
        TokenPages,
    ),
    *(Login, StaticFiles),
]


class PagesRouter:
    """Every path that is no API: what is served there, and how a refusal looks."""

    def __init__(self, services: Services) -> None:
        admission = PagesAdmission(services.callers, services.sessions, services.frame)
        self.fault = admission.fault

        async def guard(connection: Connection, handler: BaseRouteHandler) -> None:
            await admission.check(connection.scope, handler.opt)

        async def context(request: PageRequest) -> PageContext:
            form = await form_of(request) if request.route_handler.opt.get("form") else {}
            if request.scope["state"].get("known"):
                await services.dead.renew()
            return PageContext(**msgspec.structs.asdict(services), request=request, form=form)

        self.router = Router(
            "/",
            route_handlers=HANDLERS,
            guards=[guard],
            request_class=PageRequest,
            request_max_body_size=FORM_MAX,
            include_in_schema=False,
            dependencies={"context": Provide(context)},
        )

    def owns(self, raw_path: bytes) -> bool:
        """Whether a path is a page's, known or not."""
        return not raw_path.startswith((b"/api", b"/livez", b"/readyz", b"/metrics"))
