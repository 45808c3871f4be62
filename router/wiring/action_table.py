"""The actions of a serving router."""

from router import log as logs
from router.actions.dry import DryAction
from router.actions.http import HttpAction
from router.actions.live_output import Watching
from router.actions.log import LogAction
from router.actions.python import PythonAction
from router.actions.shell import ShellAction
from router.dispatch.protocol import Action
from router.egress import EgressPolicy
from router.model.job import ActionKind, Job
from router.rules.live import LiveRef


def tools(live: LiveRef, watching: Watching, *, dry: bool) -> dict[ActionKind, Action]:
    """One action for each kind; `dry`: they only say what they would do."""
    if dry:
        one = DryAction()
        return {"http": one, "shell": one, "python": one, "log": one}
    lines = logs.get("action")

    def write(level: str, message: str, job: Job) -> None:
        lines.at(level, message, {"rule": job.rule, "delivery": job.delivery, "job": job.id})

    return {
        "http": HttpAction(LiveEgress(live), redactor=logs.OUTPUTS),
        "shell": ShellAction(watching=watching, redactor=logs.OUTPUTS),
        "python": PythonAction(
            version=lambda: live.current,
            egress=lambda: live.current.ruleset.server.egress_allow,
            redactor=logs.OUTPUTS,
        ),
        "log": LogAction(write),
    }


class LiveEgress(EgressPolicy):
    """The egress rules of the generation in force."""

    def __init__(self, live: LiveRef) -> None:
        super().__init__()
        self._live = live
        self._policies: tuple[tuple[str, ...], EgressPolicy] = ((), EgressPolicy())

    def check(self, address: str, *, literal: bool = False) -> None:
        """
        Pass if a connection to `address` is allowed now.

        Raises:
            EgressRefused: it is not.
        """
        allow = self._live.current.ruleset.server.egress_allow
        if self._policies[0] != allow:
            self._policies = (allow, EgressPolicy(allow))
        self._policies[1].check(address, literal=literal)
