"""CORRIDOR OUT: lease, limits, act, settle, due times."""

from router.dispatch.dispatcher import Dispatcher
from router.dispatch.live import Listener, Live, Measures, Quiet
from router.dispatch.protocol import Action, PromptAction, Render

__all__ = [
    "Action",
    "Dispatcher",
    "Listener",
    "Live",
    "Measures",
    "PromptAction",
    "Quiet",
    "Render",
]
