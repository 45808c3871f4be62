"""
Judges, reads, routes, commits and answers deliveries.

Nothing is read before it is proved genuine, and no 2xx leaves before the store has committed.
"""

from router.intake.intake import Answer, DispatchPort, Intake, IntakeChecks
from router.intake.reply import UNAVAILABLE, Reply
from router.intake.routing import TIMED_EVERY, Arrival, acceptance

__all__ = [
    "TIMED_EVERY",
    "UNAVAILABLE",
    "Answer",
    "Arrival",
    "DispatchPort",
    "Intake",
    "IntakeChecks",
    "Reply",
    "acceptance",
]
