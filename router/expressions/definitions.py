"""Named expressions of the rules file, evaluated when first read, at most once an event."""

from collections.abc import Mapping
from typing import Any

from router.errors import EvaluationError
from router.expressions.absent import ABSENT, JSON, Failed, Lazy
from router.expressions.expression import Expression, Scope
from router.expressions.faults import FAULTS, reason_of

_DEPTH_MAX = 40


class Definitions(Lazy):
    """
    The root `def` of one event. `scope` is the scope it will itself be put into.

    A definition that is absent stays absent, one that fails keeps failing with the same reason;
    one that needs itself fails.
    """

    __slots__ = ("_depth", "_known", "_scope", "expressions")

    def __init__(self, expressions: Mapping[str, Expression], scope: Scope) -> None:
        self.expressions = expressions
        """The definitions, by name."""
        self._scope = scope
        self._known: dict[str, Any] = {}
        self._depth = 0

    def take(self, name: str) -> JSON:
        known = self._known
        if name not in known:
            known[name] = self._evaluate(name)
        value = known[name]
        if value.__class__ is Failed:
            raise EvaluationError(value.reason)
        return value

    def everything(self) -> dict[str, JSON]:
        taken = {name: self.take(name) for name in self.expressions}
        return {name: None if value is ABSENT else value for name, value in taken.items()}

    def _evaluate(self, name: str) -> Any:
        if (expression := self.expressions.get(name)) is None:
            return ABSENT
        if self._depth >= _DEPTH_MAX:
            return Failed(f"def.{name} needs too many other definitions")
        self._known[name] = Failed(f"def.{name} needs itself")
        self._depth += 1
        try:
            return expression.run(self._scope, self._scope)
        except FAULTS as fault:
            return Failed(f"def.{name}: {reason_of(fault)}")
        finally:
            self._depth -= 1
