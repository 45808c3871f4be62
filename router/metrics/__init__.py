"""
Counters as values: one `Metrics` a process or a test, with its own registry, nothing global.

Label values come from the rules file or from fixed words, never from a stranger's request.
"""

from router.metrics.counters import ActivityKey, ActivityTotals, Metrics, RuleTotals

__all__ = ["CONTENT_TYPE", "ActivityKey", "ActivityTotals", "Metrics", "RuleTotals"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
