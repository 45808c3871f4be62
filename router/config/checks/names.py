"""Checks of names: those that nothing uses, those in circles, and those of headers."""

from collections.abc import Container
from typing import Any

from router.config.checks.attempts import policies
from router.config.checks.base import CompiledFile, Found, TextSpan
from router.expressions.nodes import Node, walk
from router.expressions.reads import WHOLE
from router.suggest import FixHint
from router.yaml_source import SourceText, Table


def define_cycles(file: CompiledFile) -> Found:
    """Depth first without recursion; a definition on the path from itself is said once."""
    table, found = file.context.file.define, file.ruleset.defines
    done: set[str] = set()
    for start in found:
        path: dict[str, None] = {}
        pending: list[tuple[str, bool]] = [(start, False)]
        while pending:
            name, leaving = pending.pop()
            if leaving:
                del path[name]
                done.add(name)
            elif name in path and table is not None:
                circle = [*list(path)[list(path).index(name) :], name]
                shown = " -> ".join(circle[:8]) + (" …" if len(circle) > 8 else "")
                yield table.items[name][0], f"the definition '{name}' needs itself: {shown}"
            elif name not in done:
                path[name] = None
                used = sorted(field for root, field in found[name].uses if root == "def")
                pending += [(name, True), *((one, False) for one in used if one in found)]


def unused_secrets(file: CompiledFile) -> Found:
    """Secrets that nothing refers to."""
    return _unused(file.context.file.secrets, file.context.used_secrets, "secret")


def unused_targets(file: CompiledFile) -> Found:
    """Targets that no action calls."""
    used = {action.target for rule in file.ruleset.rules for action in rule.actions}
    return (
        (name, f"no action calls the target '{name.shown}'")
        for name, _ in file.context.file.targets or ()
        if name.value not in used
    )


def unused_variables(file: CompiledFile) -> Found:
    """Variables that no expression reads."""
    return _unread(file, file.context.file.vars, "var", "variable")


def unused_definitions(file: CompiledFile) -> Found:
    """Definitions that no expression reads."""
    return _unread(file, file.context.file.define, "def", "definition")


def unused_retries(file: CompiledFile) -> Found:
    """Retry policies that no rule and no action names."""
    used = {one.name.value for one in policies(file) if one.name}
    return _unused(file.context.file.retries, used, "retry policy")


def unused_providers(file: CompiledFile) -> Found:
    """Providers of the file's own that no endpoint names."""
    endpoints = file.context.file.endpoints or ()
    used = {entry.provider.value for _, entry in endpoints if entry.provider}
    return _unused(file.context.file.providers, used, "provider")


def unused_endpoints(file: CompiledFile) -> Found:
    """Endpoints whose deliveries no rule takes, in a file that has rules."""
    rules = file.ruleset.rules
    sources = [rule.sources for rule in rules]
    used = {name for named in sources for name in named or ()}
    if not rules or None in sources:
        return
    for name, _ in file.context.file.endpoints or ():
        if name.value not in used:
            yield (
                name,
                f"no rule takes the events of the endpoint '{name.shown}'",
                "they are accepted and stored, and nothing happens",
            )


def headers_never_there(file: CompiledFile) -> Found:
    """Headers that expressions read by a name with capitals."""
    for written in file.written:
        for expression, base in written.expressions if "headers" in written.text.value else ():
            for read in filter(None, (_header_of(node) for node, _, _ in walk(expression.tree))):
                name, start = str(read.value), base + read.start
                if (lower := name.lower()) != name:
                    message = f"no header is called '{name}': their names are lower case here"
                    quote = "'" if written.text.value.startswith("'", start) else '"'
                    hint = FixHint(f'write headers."{lower}"', f"{quote}{lower}{quote}")
                    yield TextSpan(written.text, start, base + read.end), message, hint


def _header_of(node: Node) -> Node | None:
    """The name in `headers.NAME`, `results.ID.headers.NAME` and `lookup(headers, 'NAME')`."""
    lookup = node.kind == "call" and node.value == "lookup"
    if not lookup and node.kind != "chain":
        return None
    path = node.children[0] if lookup else node
    steps = [one for one in path.children or (path,) if one.kind != "root"]
    steps += node.children[1:2] if lookup else ()
    names = [one.value for one in steps]
    at = 1 if names[:1] == ["headers"] else 3 if names[:3:2] == ["results", "headers"] else 9
    return steps[at] if at < len(steps) and isinstance(names[at], str) else None


def _unread(file: CompiledFile, table: Table[Any] | None, root: str, what: str) -> Found:
    """The names below a root that no expression reads; none where one takes it as a whole."""
    left = set(table.items if table else ())
    for compiled in {id(one.compiled): one.compiled for one in file.written}.values():
        if not left:
            break
        fields = {field for name, field in compiled.uses if name == root}
        if WHOLE in compiled.reads or (not fields and root in compiled.roots):
            return iter(())
        left -= fields
    return ((name, _nowhere(name, what)) for name, _ in table or () if name.value in left)


def _unused(table: Table[Any] | None, used: Container[str], what: str) -> Found:
    return ((name, _nowhere(name, what)) for name, _ in table or () if name.value not in used)


def _nowhere(name: SourceText, what: str) -> str:
    return f"the {what} '{name.shown}' is used nowhere"
