"""The traced reading agrees with the fast one, on made-up conditions and documents."""

from typing import Any

from hypothesis import assume, given

from router.errors import ExpressionError
from router.expressions import compile as compiled
from router.expressions.trace import trace
from tests.properties.test_expressions import expressions, objects
from tests.properties.test_index import CONDITIONS, PAYLOADS, VALUES


@given(CONDITIONS, PAYLOADS, VALUES)
def test_on_conditions(text: str, payload: Any, event: Any) -> None:
    """The same verdict, for an error the same reason; and every leaf is its own words' verdict."""
    expression, scope = compiled(text), {"payload": payload, "event": event}
    seen = trace(expression, scope)
    assert seen.verdict == expression.verdict(scope)
    for leaf in seen.leaves:
        if leaf.verdict in ("true", "false"):
            assert compiled(leaf.text).verdict(scope) is (leaf.verdict == "true")


@given(expressions, objects)
def test_on_any_expression(text: str, document: Any) -> None:
    try:
        expression = compiled(text)
    except ExpressionError:
        assume(False)
        return
    verdict = trace(expression, document).verdict
    assert verdict == expression.verdict(document)


@given(CONDITIONS, PAYLOADS, VALUES)
def test_nothing_is_missing_exactly_where_it_holds(text: str, payload: Any, event: Any) -> None:
    expression, scope = compiled(text), {"payload": payload, "event": event}
    seen = trace(expression, scope)
    assert (seen.missing == 0) is (seen.verdict is True)
    failed = {leaf.number for leaf in seen.leaves if leaf.failed}
    assert set(seen.pivots) <= failed
    assert seen.missing <= len(failed)
