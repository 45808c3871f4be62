"""Checks of the headers that expressions read: some are never there."""

from collections.abc import Iterator
from functools import partial

from router.config.checks.base import CompiledFile, Found, TextSpan
from router.config.language import Written
from router.expressions.nodes import Node, walk
from router.providers.definition import Definition, spelled
from router.suggest import FixHint, closest, meaning

_WITH_HEADERS = frozenset({"headers", "results"})


def headers_never_there(file: CompiledFile) -> Found:
    """Names with capitals, and those that are nearly one of the sender's own."""
    senders = {provider.name: provider for provider in file.ruleset.providers.values()}
    known = {name for one in senders.values() for name in _headers_of(one.definition)}
    for written in file.written:
        if "headers" not in written.text.value:
            continue
        for node, base, own in _names_read(written):
            start, name = base + node.start, str(node.value)
            place, lower = TextSpan(written.text, start, base + node.end), name.lower()
            quote = "'" if written.text.value.startswith("'", start) else '"'
            in_quotes = partial("{0}{1}{0}".format, quote)
            if lower != name:
                message = f"no header is called '{name}': their names are lower case here"
                yield place, message, FixHint(f'write headers."{lower}"', in_quotes(lower))
            elif (own and name not in known) and (
                hint := meaning(name, closest(name, sorted(known)), in_quotes)
            ):
                yield place, f"no sender of this file sends a header '{name}'", hint


def _headers_of(definition: Definition) -> Iterator[str]:
    """The headers that a definition names, in lower case."""
    sources = (definition.event, definition.action, definition.id, *definition.fields.values())
    for source in sources:
        if source is not None and source.header:
            yield from (name.lower() for name in spelled(source.header))
    for way in definition.ways:
        for names in (way.place, way.stamp.header):
            yield from (name.lower() for name in spelled(names))


def _names_read(written: Written) -> Iterator[tuple[Node, int, bool]]:
    """The headers that a text reads by name, where their text begins, and if a sender sent them."""
    for expression, base in written.expressions:
        if expression.roots & _WITH_HEADERS:
            for node, _, _ in walk(expression.tree):
                if (found := _header_of(node)) is not None:
                    yield found[0], base, found[1]


def _header_of(node: Node) -> tuple[Node, bool] | None:
    """
    The name in `headers.NAME`, `results.ID.headers.NAME` and `lookup(headers, 'NAME')`, and whether
    it is a header of the delivery.
    """
    lookup = node.kind == "call" and node.value == "lookup"
    if not lookup and node.kind != "chain":
        return None
    first = node.children[0]
    path = first.children or (first,) if lookup else node.children
    steps = [one for one in path if one.kind != "root"]
    names = [one.value for one in steps[:3] if one.kind == "field"]
    own, result = names[:1] == ["headers"], names[::2] == ["results", "headers"]
    at = 1 if own else 3
    if not (own or result) or len(steps) < at + (not lookup):
        return None
    name = node.children[1] if lookup else steps[at]
    right = name.kind == "literal" and len(steps) == at if lookup else name.kind == "field"
    return (name, own) if right else None
