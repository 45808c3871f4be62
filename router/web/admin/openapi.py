"""The admin door in OpenAPI, and as a page to read: both made of the table of routes."""

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from router import __version__
from router.web.admin.call import HTML, JSON, PROBLEM, Call, Route, RouteAnswer

_PLACE = re.compile(r"\{(\w+)\}")
_REFUSALS = {
    "400": "The request is malformed, or asks for what is not known here.",
    "401": "A token is needed.",
    "403": "This token may not do that, or the request comes from another site.",
    "404": "There is no such thing.",
    "429": "Too many wrong tokens; Retry-After says how long to wait.",
    "503": "The store does not answer.",
}
_CHANGED = {"409": "The ledger or the rules file stands against it.", "413": "The body is too big."}
_PROBLEM = {
    "type": "object",
    "required": ["title", "status", "detail"],
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}


class Described:
    """Two routes more: the table itself, for programs and for people."""

    def __init__(self, routes: Iterable[Route]) -> None:
        mine = [
            Route("GET", "/api", "viewer", "This page.", self._page, answer=HTML),
            Route(
                "GET", "/api/openapi.json", "viewer", "All of this as OpenAPI 3.1.",
                self._document, answer=dict[str, Any],
            ),
        ]  # fmt: skip
        self.routes = [*routes, *mine]
        self._made: tuple[bytes, bytes] | None = None

    async def _page(self, _: Call) -> RouteAnswer:
        return RouteAnswer(200, HTML, self._both()[1])

    async def _document(self, _: Call) -> RouteAnswer:
        return RouteAnswer(200, JSON, self._both()[0])

    def _both(self) -> tuple[bytes, bytes]:
        """Made when first asked for: most servers never are."""
        if self._made is None:
            text = msgspec.json.encode(document(self.routes))
            self._made = text, listing(self.routes).encode()
        return self._made


def document(routes: Sequence[Route]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of these routes."""
    structs = [t for route in routes for t in (route.body, route.answer) if _is_struct(t)]
    refs, components = msgspec.json.schema_components(
        structs, ref_template="#/components/schemas/{name}"
    )
    schemas = dict(zip(structs, refs, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "router: the admin door", "version": __version__},
        "components": {
            "schemas": {**components, "Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
        "paths": paths,
    }


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _operation(route: Route, schemas: dict[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": route.about,
        "operationId": operation_id(route),
        "parameters": _parameters(route),
        "responses": _responses(route, schemas),
        "x-access": route.access,
    }
    if route.access in ("open", "loopback"):
        found["security"] = [{}, {"token": []}]
    if route.body is not None:
        content = {JSON: {"schema": schemas[route.body]}}
        found["requestBody"] = {"required": False, "content": content}
    return found


def operation_id(route: Route) -> str:
    """`get_api_jobs_job` of GET /api/jobs/{job}."""
    words = re.findall(r"[a-z]+", route.path)
    return "_".join([route.method.lower(), *words])


def _parameters(route: Route) -> list[dict[str, Any]]:
    text = {"type": "string"}
    return [
        *(
            {"name": name, "in": "path", "required": True, "schema": text}
            for name in _PLACE.findall(route.path)
        ),
        *(
            {"name": p.name, "in": "query", "description": p.about, "schema": text}
            for p in route.query
        ),
    ]


def _responses(route: Route, schemas: dict[Any, Any]) -> dict[str, Any]:
    if isinstance(route.answer, str):
        content: dict[str, Any] = {route.answer.partition(";")[0]: {}}
    else:
        schema = schemas.get(route.answer, {"type": "object"})
        content = {JSON: {"schema": schema}}
    refused = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    codes = {**_REFUSALS, **(_CHANGED if route.method == "POST" else {})}
    return {
        "200": {"description": "As asked.", "content": content},
        **{code: {"description": about, "content": refused} for code, about in codes.items()},
    }


def listing(routes: Sequence[Route]) -> str:
    """The table of routes as a page that loads nothing and runs nothing."""
    rows = "".join(_row(route) for route in routes)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>router: the admin door</title>'
        "</head><body><h1>The admin door</h1>"
        '<p>For programs: <a href="/api/openapi.json">openapi.json</a>.</p>'
        '<table border="1" cellpadding="4"><thead><tr><th>route</th><th>who</th><th>what</th>'
        f"<th>query</th></tr></thead><tbody>{rows}</tbody></table></body></html>\n"
    )


def _row(route: Route) -> str:
    asked = "<br>".join(f"<b>{_safe(p.name)}</b>: {_safe(p.about)}" for p in route.query)
    return (
        f"<tr><td><code>{route.method} {_safe(route.path)}</code></td>"
        f"<td>{route.access}</td><td>{_safe(route.about)}</td><td>{asked}</td></tr>"
    )


def _safe(text: str) -> str:
    return html.escape(text)


def table(routes: Sequence[Route]) -> str:
    """The routes as the table of docs/api.md."""
    lines = ["| route | who | what | query |", "|---|---|---|---|"]
    for r in routes:
        asked = " ".join(f"`{p.name}`" for p in r.query)
        who = f"{r.access}, with bodies" if r.payloads else r.access
        lines.append(f"| `{r.method} {r.path}` | {who} | {r.about} | {asked} |")
    return "\n".join(lines) + "\n"
