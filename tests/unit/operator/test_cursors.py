"""Cursors of lists."""

import pytest

from router.errors import UsageError
from router.operator.cursors import cursor_of, reached_by

EVENT = tuple[str, int]


def test_a_cursor_is_of_its_list_alone() -> None:
    cursor = cursor_of("events", ("dlv_1", 3))
    assert reached_by(cursor, "events", EVENT) == ("dlv_1", 3)
    assert reached_by(None, "events", EVENT) is None
    for text in (cursor[:-3], "AAAA", "\0", "a b", cursor_of("events", 7), "=" * 9, "\xe9", ""):
        with pytest.raises(UsageError, match="this cursor is of no page"):
            reached_by(text, "events", EVENT)
    with pytest.raises(UsageError, match="this cursor is of no page"):
        reached_by(cursor, "jobs", str)
