"""Actions: what runs a rendered call, one kind a file, and the table of them."""

from collections.abc import Callable, Mapping

from router.actions.http import HttpAction
from router.actions.log import LogAction
from router.actions.python import PythonAction
from router.actions.resources import Resources
from router.actions.shell import ShellAction
from router.dispatch.protocol import Action
from router.egress import EgressPolicy

ACTIONS: Mapping[str, Callable[[Resources], Action]] = {
    "http": lambda r: HttpAction(EgressPolicy(r.private), redactor=r.redactor),
    "shell": lambda r: ShellAction(watching=r.output, redactor=r.redactor),
    "python": lambda r: PythonAction(version=r.version, egress=r.private, redactor=r.redactor),
    "log": lambda r: LogAction(r.write),
}
"""What makes the action of each kind of `router.kinds`."""
