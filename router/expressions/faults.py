"""Whatever may go wrong inside an evaluation, in words."""

from router.errors import EvaluationError

FAULTS = (
    EvaluationError,
    RecursionError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
)
"""The expected one, and those that values which are no JSON can provoke."""


def reason_of(fault: Exception) -> str:
    """What to tell the author of the expression."""
    if isinstance(fault, EvaluationError):
        return str(fault)
    if isinstance(fault, RecursionError):
        return "a value is nested too deeply"
    return f"a value cannot be read ({type(fault).__name__}: {fault})"
