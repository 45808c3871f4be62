"""Actions: what runs a rendered call, one kind a file, and the table of them."""

from collections.abc import Callable, Mapping

from router.actions import http, log, python, shell
from router.actions.resources import Resources
from router.dispatch.protocol import Action

ACTIONS: Mapping[str, Callable[[Resources], Action]] = {
    "http": http.action,
    "shell": shell.action,
    "python": python.action,
    "log": log.action,
}
"""What makes the action of each kind of `router.kinds`."""
