"""Leases jobs, keeps limits, runs actions, settles results, knows due times."""

from router.dispatch.dispatcher import Dispatcher
from router.dispatch.live import DispatchRules, DispatchSettings
from router.dispatch.protocol import Action, Render

__all__ = [
    "Action",
    "DispatchRules",
    "DispatchSettings",
    "Dispatcher",
    "Render",
]
