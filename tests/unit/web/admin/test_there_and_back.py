"""Every answer of the API, made from its type, is read by a command as the value that it was."""

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from litestar import Litestar
from litestar.routes import HTTPRoute

from router.operator.times import decoded, is_time
from router.web.admin.api import admin_api, masked
from router.web.admin.problems import JSON
from router.wiring.admin_api import CONTROLLERS
from tests.unit.web.stand_in import StandIns

SERVICES = StandIns("questions", "verbs", "running", "render_metrics", "signal", "store", "live",
    "recoveries")  # fmt: skip
NOT_RECORDS = {
    "/api/openapi.json",  # a document for other programs
    "/metrics",
    "/api/signal",
    "/api/deliveries/{delivery}/body",  # byte for byte
    "/api/export",  # handed over as it is written
}
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text() | st.just("2026-03-01T12:30:00Z"),
    int: st.integers(-(10**15) + 1, 10**15 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    bytes: st.binary(),
    NoneType: st.none(),
    Any: st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
        max_leaves=3,
    ),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type, whatever it is made of; a type that is not known here fails."""
    if kind in SCALARS:
        return SCALARS[kind]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = get_type_hints(kind)
        named = kind.__struct_fields__
        return st.builds(kind, **{name: fields(name, hints[name]) for name in named})
    return composed(get_origin(kind), get_args(kind))


def composed(origin: Any, parts: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    """Values of what has types in brackets."""
    if origin is Literal:
        return st.sampled_from(parts)
    if origin in (Union, UnionType):
        return st.one_of(*map(values, parts))
    if origin is dict:
        return st.dictionaries(values(parts[0]), values(parts[1]), max_size=2)
    if origin is list or (origin is tuple and parts[1:] == (...,)):
        return st.lists(values(parts[0]), max_size=2).map(origin)
    assert origin is tuple, (origin, parts)
    return st.tuples(*map(values, parts))


def fields(name: str, kind: Any) -> st.SearchStrategy[Any]:
    """Values of a field: times are those that RFC 3339 can write."""
    if is_time(name) and int in (kind, *get_args(kind)):
        times = st.integers(0, 4_102_444_800_000)
        return times if kind is int else times | st.none()
    return values(kind)


def operations() -> Iterator[tuple[str, Any]]:
    """Each operation of the API, and what it is answered with."""
    app: Litestar = admin_api(CONTROLLERS, SERVICES, **StandIns("callers", "clock"))  # type: ignore[arg-type] # they stand in
    for route in app.routes:
        for handler in route.route_handlers if isinstance(route, HTTPRoute) else ():
            if "query" in handler.opt:
                kind = handler.parsed_fn_signature.return_type.annotation
                for one in get_args(kind) if get_origin(kind) is UnionType else (kind,):
                    yield route.path_format, one


OPERATIONS = list(operations())


def test_every_operation_is_one_of_these() -> None:
    """What is answered otherwise is named above."""
    assert {
        path for path, kind in OPERATIONS if not hasattr(kind, "__struct_fields__")
    } == NOT_RECORDS


KINDS = {kind.__name__: kind for path, kind in OPERATIONS if path not in NOT_RECORDS}


@pytest.mark.parametrize("name", sorted(KINDS))
@settings(max_examples=10, derandomize=True, phases=[Phase.generate])  # each is large
@given(data=st.data())
def test_an_answer_comes_back_as_it_was(name: str, data: st.DataObject) -> None:
    answer = data.draw(values(KINDS[name]))
    response = masked(bytes)(answer)
    assert decoded(response.render(answer, JSON), KINDS[name]) == answer
