"""Event patterns say which events a rule wants."""

import time

import pytest

from router.model.patterns import wants_event, wildcard


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("orders/paid", "orders/paid", True),
        ("orders/paid", "Orders/Paid", False),
        ("orders/*", "orders/paid", True),
        ("orders/*", "orders", False),
        ("*", "", True),
        ("*/paid", "a/b/paid", True),
        ("a*a", "a", False),
        ("a*b*c", "a-c-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("a**b", "ab", True),
    ],
)
def test_a_star_is_any_run_of_characters(pattern: str, text: str, fits: bool) -> None:
    """Anchored at both ends, slashes and dots included, case counts."""
    assert fits is wildcard(pattern, text)


@pytest.mark.parametrize(
    ("patterns", "name", "action", "wanted"),
    [
        (None, "push", None, True),
        (("workflow_run",), "workflow_run", "completed", True),
        (("workflow_run.completed",), "workflow_run", "completed", True),
        (("workflow_run.completed",), "workflow_run", "requested", False),
        (("workflow_run.*",), "workflow_run", None, False),
        (("workflow_run.*",), "workflow_run", "requested", True),
        (("push", "pull_request.*"), "pull_request", "opened", True),
        (("push",), "pushes", None, False),
        ((), "push", None, False),
    ],
)
def test_an_event_is_named_with_or_without_its_action(
    patterns: tuple[str, ...] | None, name: str, action: str | None, wanted: bool
) -> None:
    """`name` fits every action, `name.action` one, `name.*` only events with an action."""
    assert wanted is wants_event(patterns, name, action)


def test_many_stars_cost_no_backtracking() -> None:
    """Ten thousand characters against fifty stars end at once."""
    before = time.process_time()
    assert not wildcard("a*" * 50 + "b", "a" * 10_000)
    assert time.process_time() - before < 1.0
