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
    one that needs itself fails. `keys`: they are read as parts of keys.
    """

    __slots__ = ("_depth", "_keys", "_known", "_scope", "expressions")

    def __init__(
        self, expressions: Mapping[str, Expression], scope: Scope, *, keys: bool = False
    ) -> None:
        self.expressions = expressions
        """The definitions, by name."""
        self._keys = keys
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
            run = expression.key_run if self._keys else expression.run
            return run(self._scope, self._scope)
        except FAULTS as fault:
            return Failed(f"def.{name}: {reason_of(fault)}")
        finally:
            self._depth -= 1


def key_of(expression: Expression, scope: Scope) -> JSON:
    """
    The value of a dedupe key or a group; None: the event has none.

    It has none where a part of it is absent or fails, and where it holds nothing but nulls: that
    value is the same for events that have nothing in common.
    """
    if isinstance(definitions := scope.get("def"), Definitions):
        scope = {**scope}
        scope["def"] = Definitions(definitions.expressions, scope, keys=True)
    try:
        found = expression.key_run(scope, scope)
    except FAULTS:
        return None
    if isinstance(found, Lazy):
        found = found.everything()
    return None if found is ABSENT or _says_nothing(found) else found


def _says_nothing(value: JSON) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return value is None or (isinstance(value, list) and all(map(_says_nothing, value)))
