"""Event patterns: `*` is any run of characters, case counts, `name.action` names one action."""

from router.model.settings import OWN


def wildcard(pattern: str, text: str) -> bool:
    """Whether `text` fits `pattern`, in time linear in both for each `*`."""
    head, *middle = pattern.split("*")
    if not middle:
        return pattern == text
    tail = middle.pop()
    at, end = len(head), len(text) - len(tail)
    if at > end or not text.startswith(head) or not text.endswith(tail):
        return False
    for piece in middle:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


_OTHER_NAMES = {"target.failing": "target.open", "target.open": "target.failing"}
"""The router's own events that rules may name as before."""


def event_names(endpoint: str, event: str) -> tuple[str, ...]:
    """The names by which rules may name an event of this endpoint."""
    other = _OTHER_NAMES.get(event) if endpoint == OWN else None
    return (event,) if other is None else (event, other)


def wants_event(patterns: tuple[str, ...] | None, name: str, action: str | None) -> bool:
    """
    Whether one of `patterns` names this event; None names every event.

    `workflow_run` fits it with any action, `workflow_run.completed` with that one, and
    `workflow_run.*` only events that have an action.
    """
    if patterns is None:
        return True
    full = f"{name}.{action}" if action else None
    return any(wildcard(p, name) or (full is not None and wildcard(p, full)) for p in patterns)
