"""The actions of a serving router."""

from functools import lru_cache

from router import log as logs
from router.actions import ACTIONS
from router.actions.dry import DryAction
from router.actions.live_output import Watching
from router.actions.resources import Resources
from router.dispatch.protocol import Action
from router.egress import EgressPolicy
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
        LiveEgress(live),
        private=lambda: live.current.ruleset.server.egress_allow,
        version=lambda: live.current,
        output=watching,
        redactor=logs.OUTPUTS,
    )
    return {kind: make(resources) for kind, make in ACTIONS.items()}


class LiveEgress(EgressPolicy):
    """The egress rules of the generation in force."""

    def __init__(self, live: LiveRef) -> None:
        self._live = live
        self._policy = lru_cache(maxsize=1)(EgressPolicy)

    def check(self, address: str, host: str = "", *, literal: bool = False) -> None:
        """
        Pass if a connection to `address` is allowed now.

        Raises:
            EgressRefused: it is not.
        """
        policy = self._policy(self._live.current.ruleset.server.egress_allow)
        policy.check(address, host, literal=literal)
