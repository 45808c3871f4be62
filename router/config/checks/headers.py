"""Checks of the headers that expressions read: some are never there."""

from collections.abc import Iterator
from functools import partial

from router.config.checks.base import CompiledFile, Found, TextSpan
from router.config.language import Written
from router.expressions.nodes import Node, walk
from router.providers.definition import Definition, spelled
from router.suggest import FixHint, closest, meaning


def headers_never_there(file: CompiledFile) -> Found:
    """Names with capitals, and those that are nearly one of the sender's own."""
    senders = {provider.name: provider for provider in file.ruleset.providers.values()}
    known = {name for one in senders.values() for name in _headers_of(one.definition)}
    for written in file.written:
        if "headers" not in written.text.value:
            continue
        for name, start, end in _names_read(written):
            place = TextSpan(written.text, start, end)
            lower = name.lower()
            quote = "'" if written.text.value.startswith("'", start) else '"'
            in_quotes = partial("{0}{1}{0}".format, quote)
            if lower != name:
                message = f"no header is called '{name}': their names are lower case here"
                yield place, message, FixHint(f'write headers."{lower}"', in_quotes(lower))
            elif name not in known and (
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


def _names_read(written: Written) -> Iterator[tuple[str, int, int]]:
    """The headers that a text reads by name, and where it says so."""
    for expression, base in written.expressions:
        if "headers" in expression.roots:
            for node, _, _ in walk(expression.tree):
                if (name := _header_of(node)) is not None:
                    yield str(name.value), base + name.start, base + name.end


def _header_of(node: Node) -> Node | None:
    """The name in `headers.NAME`, `$.headers.NAME` and `lookup(headers, 'NAME')`."""
    steps = [one for one in node.children if one.kind != "root"]
    if len(steps) < 2 or steps[0].kind != "field" or steps[0].value != "headers":
        return None
    if node.kind == "chain" and steps[1].kind == "field":
        return steps[1]
    lookup = node.kind == "call" and node.value == "lookup" and steps[1].kind == "literal"
    return steps[1] if lookup else None
