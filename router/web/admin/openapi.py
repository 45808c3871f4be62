"""The admin API in OpenAPI, made of its handlers."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from litestar import Litestar, Router
from litestar.controller import Controller
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.routes import HTTPRoute

from router import __version__
from router.operator.times import is_time
from router.web.admin.query import SELECTOR, QueryParameter
from router.web.admin.request import AdminRequest, question


class ApiRoute(NamedTuple):
    """One address of the API."""

    method: str
    path: str
    access: str
    about: str
    query: tuple[QueryParameter, ...] = ()
    payloads: bool = False


PROBES = (
    ApiRoute("GET", "/livez", "open", "Whether the process is alive."),
    ApiRoute("GET", "/readyz", "open", "Whether a delivery can be committed."),
)
"""These are answered before Litestar is."""


class DocumentRoutes(Controller):
    """The API itself, for programs."""

    @question("/api/openapi.json", "All of this as OpenAPI 3.1.")
    async def document(self, request: AdminRequest) -> dict[str, Any]:
        """Made when first asked for."""
        return document(request.app)


class _NoRoutes(Router):
    """Litestar would serve the document to anybody: ours stands behind a token."""

    def register(self, value: Any) -> list[Any]:
        """Nothing."""
        del value
        return []


def described() -> OpenAPIConfig:
    """How Litestar describes the API."""
    token = SecurityScheme(type="http", scheme="bearer")
    return OpenAPIConfig(
        title="router: the admin API",
        version=__version__,
        components=Components(security_schemes={"token": token}),
        security=[{"token": []}],
        operation_id_creator=lambda handler, method, _: f"{method.lower()}_{handler.handler_name}",
        openapi_router=_NoRoutes("/api", route_handlers=[]),
        render_plugins=[JsonRenderPlugin()],
    )


def rows(app: Litestar) -> list[ApiRoute]:
    """The table of the API."""
    found = [
        ApiRoute(method, route.path_format, opt["access"], handler.summary or "", opt["query"],
            opt["payloads"])
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        for method in sorted(handler.http_methods)
        if "query" in (opt := handler.opt)
    ]  # fmt: skip
    return [*PROBES, *sorted(found, key=lambda row: (row.method, row.path))]


def document(app: Litestar) -> dict[str, Any]:
    """The OpenAPI 3.1 document: Litestar's, with our query strings and who may ask."""
    made = app.openapi_schema.to_schema()
    paths: dict[str, Any] = made["paths"]
    for schema in made["components"]["schemas"].values():
        for name, shape in schema.get("properties", {}).items():
            for one in (shape, *shape.get("oneOf", ())) if is_time(name) else ():
                if one.get("type") == "integer":
                    one.update(type="string", format="date-time")
    for row in rows(app):
        probe: dict[str, Any] = {
            "summary": row.about,
            "operationId": row.path[1:],
            "responses": {"200": {"description": "Yes."}},
            "security": [{}],
        }
        operation = paths.setdefault(row.path, {}).setdefault(row.method.lower(), probe)
        operation["x-access"] = row.access
        operation["parameters"] = [
            *operation.get("parameters", ()),
            *({"name": p.name, "in": "query", "description": p.about, "schema": {"type": "string"}}
              for p in row.query),
        ]  # fmt: skip
    return made


def listed(table_rows: Iterable[ApiRoute]) -> str:
    """The routes as the list of docs/api.md."""
    lines = []
    for row in table_rows:
        usual = {"GET": "viewer", "POST": "operator"}.get(row.method)
        who = [f"*{row.access}*"] * (row.access != usual) + ["*with bodies*"] * row.payloads
        words = [f"- `{row.method} {row.path}`", *_named(row.query)]
        lines.append(f"{' '.join(words)}: {' '.join([row.about, *who])}\n")
    return "".join(lines)


def _named(query: Sequence[QueryParameter]) -> list[str]:
    """The parameters; those that select in every list are one word."""
    selects = set(SELECTOR) <= set(query)
    return ["selector"] * selects + [
        f"`{p.name}`" for p in query if not selects or p not in SELECTOR
    ]
