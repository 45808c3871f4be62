"""CORRIDOR OUT: lease, limits, act, settle, due times."""

from router.dispatch.dispatcher import Dispatcher
from router.dispatch.live import DispatchObserver, DispatchRules, Measures, Quiet
from router.dispatch.protocol import Action, PromptAction, Render

__all__ = [
    "Action",
    "DispatchObserver",
    "DispatchRules",
    "Dispatcher",
    "Measures",
    "PromptAction",
    "Quiet",
    "Render",
]
