"""What operators do with stored work: look for it, replay it, cancel it, revive it."""

from router.model.operations import ActionJobs, Planned
from router.operator.id_lookup import whole_ids
from router.operator.known_names import check_names
from router.operator.operator import Operator
from router.operator.replay_request import ANYONE, LOCAL, By, ReplayRequest
from router.operator.search import Pages, Search

__all__ = (
    "ANYONE",
    "LOCAL",
    "ActionJobs",
    "By",
    "Operator",
    "Pages",
    "Planned",
    "ReplayRequest",
    "Search",
    "check_names",
    "whole_ids",
)
