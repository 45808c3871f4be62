"""What operators do with stored work: look for it, replay it, cancel it, revive it."""

from router.model.operating import Part, Planned
from router.replay.asked import ANYONE, LOCAL, Asked, By
from router.replay.known import check_names
from router.replay.naming import whole_ids
from router.replay.operator import Operator
from router.replay.requests import as_request
from router.replay.search import Pages, Search

__all__ = (
    "ANYONE",
    "LOCAL",
    "Asked",
    "By",
    "Operator",
    "Pages",
    "Part",
    "Planned",
    "Search",
    "as_request",
    "check_names",
    "whole_ids",
)
