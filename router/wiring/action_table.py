"""The actions of a serving router."""

from router import log as logs
from router.actions import ACTIONS
from router.actions.dry import DryAction
from router.actions.live_output import Watching
from router.actions.resources import Resources
from router.dispatch.protocol import Action
from router.model.job import ActionKind
from router.rules.live import LiveRef


def make_actions(live: LiveRef, watching: Watching, *, dry: bool) -> dict[ActionKind, Action]:
    """One action for each kind; `dry`: they only say what they would do."""
    if dry:
        return dict.fromkeys(ACTIONS, DryAction())
    lines = logs.get("action")
    resources = Resources(
        lambda level, message, job: lines.at(
            level, message, {"rule": job.rule, "delivery": job.delivery, "job": job.id}
        ),
        private=lambda: live.current.ruleset.server.egress_allow,
        version=lambda: live.current,
        output=watching,
        redactor=logs.OUTPUTS,
    )
    return {kind: make(resources) for kind, make in ACTIONS.items()}
