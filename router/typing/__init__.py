"""Types and shapes of expressions over payloads: what they may give, and what cannot be meant."""

from router.typing.combine import combined
from router.typing.infer import TABLES, value_type, verdict_bits
from router.typing.lattice import ANY, Type
from router.typing.narrow import when_false, when_true
from router.typing.run import Clues, TypeFinding, TypeScope, TypeWalk
from router.typing.scenes import TypedSender

__all__ = [
    "ANY",
    "TABLES",
    "Clues",
    "Type",
    "TypeFinding",
    "TypeScope",
    "TypeWalk",
    "TypedSender",
    "combined",
    "value_type",
    "verdict_bits",
    "when_false",
    "when_true",
]
