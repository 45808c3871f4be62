"""Checks of the names that a file gives: those that nothing uses, and those in circles."""

from router.config.checks.base import CompiledFile, Found


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
    return (
        (name, f"the secret '{name.shown}' is used nowhere")
        for name, _ in file.context.file.secrets or ()
        if name.value not in file.context.used_secrets
    )


def unused_targets(file: CompiledFile) -> Found:
    """Targets that no action calls."""
    used = {action.target for rule in file.ruleset.rules for action in rule.actions}
    return (
        (name, f"no action calls the target '{name.shown}'")
        for name, _ in file.context.file.targets or ()
        if name.value not in used
    )
