"""What operators do with stored work: look for it, replay it, cancel it, revive it."""

from router.model.operations import ActionJobs, Planned
from router.operator.id_lookup import whole_ids
from router.operator.known_names import check_names
from router.operator.operator import Operator
from router.operator.replay_request import ANYONE, LOCAL, By, ReplayRequest
from router.operator.search import Pages, Search
from router.operator.stored_request import as_request

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
    "as_request",
    "check_names",
    "whole_ids",
)
