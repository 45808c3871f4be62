"""
The pairs that must agree. Each takes a source of randomness and returns None, or what disagreed;
`Left` out are cases on which they are documented to differ.
"""

import random
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from router.errors import EvaluationError, ExpressionError
from router.expressions import compile as compiled
from router.expressions.compare import same
from router.expressions.trace import trace
from router.rules.index import Index, candidates_of, judge_of
from tests.builders import a_rule
from tests.differential import made

_SLICE_AFTER_POSITION = re.compile(r"\]\)*\[-?\d*:")
_RULES_MAX = 8


class Left(Exception):
    """This case says nothing: the two are documented to differ on it."""


def closures_and_jmespath(rng: random.Random) -> str | None:
    """The value reading gives what the reference gives, or both refuse."""
    text, value = made.expression(rng), made.document(rng)
    if _SLICE_AFTER_POSITION.search(text):
        raise Left
    wanted, ours = _reference(text, value), _ours(text, value)
    if wanted[0] == ours[0] and (wanted[0] == "error" or same(wanted[1], ours[1])):
        return None
    return f"{text!r} on {value!r}: jmespath says {wanted}, we say {ours}"


def _reference(text: str, value: Any) -> tuple[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "value", jmespath.search(text, value)
    except JMESPathError:
        return "error", None
    except (TypeError, AttributeError):  # the reference's own crash: we answer null or an error
        raise Left from None


def _ours(text: str, value: Any) -> tuple[str, Any]:
    try:
        return "value", compiled(text).search(value)
    except EvaluationError:
        return "error", None


def traced_and_fast(rng: random.Random) -> str | None:
    """The traced verdict is the fast one, for an error with the same reason; leaves are true."""
    if rng.random() < 0.7:
        text, scope = made.condition(rng), made.scope(rng)
    else:
        text, scope = made.expression(rng), made.an_object(rng)
    try:
        expression = compiled(text)
    except ExpressionError:
        raise Left from None
    seen, fast = trace(expression, scope), expression.verdict(scope)
    if seen.verdict != fast:
        return f"{text!r} on {scope!r}: traced {seen.verdict}, fast {fast}"
    if (seen.missing == 0) is not (fast is True):
        return f"{text!r} on {scope!r}: {fast}, yet {seen.missing} leaves are missing"
    for leaf in seen.leaves:
        wanted = {"true": True, "false": False}.get(leaf.verdict)
        if wanted is not None and compiled(leaf.text).verdict(scope) is not wanted:
            return f"{text!r} on {scope!r}: leaf {leaf.text!r} is not {leaf.verdict}"
    return None


def indexed_and_linear(rng: random.Random) -> str | None:
    """The same rules match, in the same order; all that errs of the candidates errs in both."""
    matches = [made.match(rng) for _ in range(rng.randint(1, _RULES_MAX))]
    rules = [a_rule(f"r{number}", match) for number, match in enumerate(matches)]
    index = Index(candidates_of(rules), made.VARIABLES)
    for _ in range(3):
        scope = made.scope(rng)
        indexed = [
            c.rule.id for c in index.candidates(scope) if c.judge is None or c.judge(scope) is True
        ]
        linear = [r.id for r in rules if (j := judge_of(r)) is None or j(scope) is True]
        if indexed != linear:
            return f"{matches!r} on {scope!r}: indexed {indexed}, linear {linear}"
    return None


PAIRS: Mapping[str, Callable[[random.Random], str | None]] = {
    "closures and jmespath": closures_and_jmespath,
    "traced and fast": traced_and_fast,
    "indexed and linear": indexed_and_linear,
}
