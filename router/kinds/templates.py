"""Templates of specs: found, and rendered."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from router.errors import RenderError
from router.expressions import Expression, Template

JsonSpec = Any
"""A JSON value whose texts are Templates (keys stay plain)."""
Scope = Mapping[str, Any]
_MARK = "\0"
_DOTTED = frozenset({"", ".", ".."})


def texts_in(*specs: Any) -> Iterator[Expression | Template]:
    """Every expression and template that specs and JSON values hold."""
    pending = list(specs)
    while pending:
        part = pending.pop()
        if isinstance(part, Template | Expression):
            yield part
        elif isinstance(part, msgspec.Struct):
            pending += msgspec.structs.astuple(part)
        elif isinstance(part, dict):
            pending += part.values()
        elif isinstance(part, list | tuple):
            pending += part


def json_value(spec: JsonSpec, scope: Scope, place: str, *, null: bool = True) -> Any:
    """
    A JsonSpec with its templates rendered; whole templates keep their type. Without `null` one that
    gives null raises RenderError.
    """
    if isinstance(spec, Template):
        value = spec.render_json(scope, place=place)
        if value is None and not null:
            raise RenderError(place, f"{spec.text} is null")
        return value
    if isinstance(spec, dict):
        return {k: json_value(v, scope, f"{place}.{k}", null=null) for k, v in spec.items()}
    if isinstance(spec, list | tuple):
        return [json_value(v, scope, f"{place}[{i}]", null=null) for i, v in enumerate(spec)]
    return spec


def encoded(template: Template, scope: Scope, place: str) -> str:
    """
    The template with each expression percent-encoded.

    A path segment that an expression takes part in must not come out empty or dotted: it would
    be another place than the operator wrote.
    """
    marked = template.render(scope, place=place, encode=lambda t: _MARK + quote(t, safe="") + _MARK)
    for segment in marked.partition("?")[0].split("/"):
        if _MARK in segment and segment.replace(_MARK, "") in _DOTTED:
            raise RenderError(place, f"a path segment comes out as {segment.strip(_MARK)!r}")
    return marked.replace(_MARK, "")
