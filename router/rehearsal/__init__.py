"""A rules file tried without a server: its tests, on a real router in virtual time, and `diff`."""

from router.rehearsal.coverage import Coverage
from router.rehearsal.run import TrialResult, TrialRunner

__all__ = ["Coverage", "TrialResult", "TrialRunner"]
