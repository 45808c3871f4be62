"""REHEARSAL: rules tried without the world: nothing listens, nothing is called, no time passes."""

from router.rehearsal.coverage import Coverage
from router.rehearsal.run import Stage, TrialResult

__all__ = ["Coverage", "Stage", "TrialResult"]
