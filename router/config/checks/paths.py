"""Checks of the request's `path`: conditions ask for one that no endpoint of the rule has."""

from collections.abc import Iterator

from router.config.checks.base import CompiledFile, Found, TextSpan
from router.expressions.nodes import Node, path_of
from router.rules.ruleset import Ruleset
from router.rules.scope import shown_path
from router.rules.specs import CompiledRule
from router.suggest import closest, meaning


def paths_not_served(file: CompiledFile) -> Found:
    """Comparisons of `path` with what it can never be; a sender may have that name for its own."""
    own = any("path" in one.root_fields for one in file.ruleset.providers.values())
    for texts in file.rules if not own else ():
        for written in texts.written:
            if "path" not in written.compiled.roots:
                continue
            served = sorted(_served(file.ruleset, texts.rule))
            for expression, base in written.expressions:
                for node in _compared(expression.tree):
                    if node.value not in served:
                        place = TextSpan(written.text, base + node.start, base + node.end)
                        yield place, "no endpoint of this rule has this path", _hint(node, served)


def _served(ruleset: Ruleset, rule: CompiledRule) -> Iterator[str]:
    """What `path` can be where the rule is asked."""
    for endpoint in ruleset.endpoints.values():
        paths = map(shown_path, endpoint.addresses if rule.takes(endpoint.name) else ())
        yield from filter(None, paths)


def _compared(node: Node) -> Iterator[Node]:
    """The texts that the path is compared with, where its name is that of the root."""
    if node.kind in ("and", "or", "not"):
        for child in node.children:
            yield from _compared(child)
    elif node.kind == "compare" and node.value in ("==", "!="):
        path, text = node.children
        if path.kind == "literal":
            path, text = text, path
        found = path_of(path)
        if found and found[1] == ("path",) and isinstance(text.value, str):
            yield text


def _hint(node: Node, served: list[str]) -> str:
    if not served:
        return "they are reached by their ids alone, and then 'path' is null"
    near = meaning(node.value, closest(node.value, served), "'{}'".format)
    return near or "their paths: " + ", ".join(served[:8])
