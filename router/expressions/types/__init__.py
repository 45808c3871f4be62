"""Types of expressions: inferred from the shapes of payloads, told as findings."""

from router.expressions.types.combine import combined
from router.expressions.types.fits import misfit
from router.expressions.types.infer import TABLES, value_type, verdict_bits
from router.expressions.types.lattice import ANY, Type
from router.expressions.types.narrow import when_false, when_true
from router.expressions.types.run import Clues, TypeFinding, TypeScope, TypeWalk

__all__ = [
    "ANY",
    "TABLES",
    "Clues",
    "Type",
    "TypeFinding",
    "TypeScope",
    "TypeWalk",
    "combined",
    "misfit",
    "value_type",
    "verdict_bits",
    "when_false",
    "when_true",
]
