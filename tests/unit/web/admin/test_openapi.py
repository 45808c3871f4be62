"""The table of routes as OpenAPI and as a page."""

import re
from typing import Any

from tests.unit.web.admin.rig import Rig

LOADS = ("script", "link", "img", "iframe", "style", "object", "embed", "form")


def refs(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(refs(item) for item in value.values()))
    return set().union(*map(refs, value)) if isinstance(value, list) else set()


async def test_every_route_is_described_and_no_other(rig: Rig) -> None:
    reported = (await rig.ask("GET", "/api/openapi.json", "viewer")).json
    assert reported["openapi"] == "3.1.0"
    operations = {
        (method.upper(), path): operation
        for path, by_method in reported["paths"].items()
        for method, operation in by_method.items()
    }
    assert operations.keys() == {(route.method, route.path) for route in rig.routes}
    for route in rig.routes:
        operation = operations[route.method, route.path]
        named = {p["name"] for p in operation["parameters"]}
        places = set(re.findall(r"{(\w+)}", route.path))
        assert named == {p.name for p in route.query} | places
        assert ("requestBody" in operation) == (route.method == "POST")
        assert operation["summary"].endswith(".")


async def test_it_is_whole(rig: Rig) -> None:
    reported = (await rig.ask("GET", "/api/openapi.json", "viewer")).json
    for ref in refs(reported):
        assert ref.removeprefix("#/components/schemas/") in reported["components"]["schemas"]
    ids = [one["operationId"] for path in reported["paths"].values() for one in path.values()]
    assert len(set(ids)) == len(ids) == len(rig.routes)


async def test_answers_are_as_described(rig: Rig) -> None:
    """By the schema of each route's own answer."""
    import jsonschema  # noqa: PLC0415 - slow, and only here

    reported = (await rig.ask("GET", "/api/openapi.json", "viewer")).json
    checked = 0
    for route in rig.routes:
        content = (
            reported["paths"][route.path]["get"]["responses"]["200"].get("content", {})
            if (route.method == "GET")
            else {}
        )
        schema = content.get("application/json", {}).get("schema")
        if schema is None:
            continue
        checked += 1
        query = "?job=job_1" if route.path == "/api/output" else ""
        answer = await rig.ask("GET", rig.path_of(route) + query, "local")
        jsonschema.Draft202012Validator({**schema, "components": reported["components"]}).validate(
            answer.json
        )
    assert checked > 20
