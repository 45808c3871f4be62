"""The selector from texts: options, query parameters, forms."""

from collections.abc import Callable, Mapping
from typing import Any

from router.errors import UsageError
from router.model.selector import FIELDS, SPAN, Criteria


def criteria(given: Mapping[str, Any], instant: Callable[[str], int]) -> Criteria:
    """
    The fields of the selector among what is given; None stands for what is not. `instant` reads a
    time.

    Raises:
        UsageError: a time is none, or the span ends before it begins.
    """
    values = {name: given[name] for name in FIELDS if given.get(name) is not None}
    for name in SPAN:
        if name in values:
            values[name] = instant(values[name])
    check_span(values.get("since"), values.get("until"))
    return Criteria(**values)


def check_span(since: int | None, until: int | None) -> None:
    """Raises UsageError: it ends before it begins."""
    if since is not None and until is not None and since > until:
        raise UsageError("since is later than until; swap them")
