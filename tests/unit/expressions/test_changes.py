"""Where two values differ, by a path that an expression can read."""

import pytest

from router.expressions import JSON
from router.expressions import compile as compiled
from router.expressions.changes import changes, quoted_step


@pytest.mark.parametrize(
    "name", ["total", "x-id", "a b", "", "7", 'say "x"', "né", "a.b", "\n", "in"]
)
def test_a_path_is_read_back_by_an_expression(name: str) -> None:
    old: JSON = {name: [{"deep": 1}]}
    new: JSON = {name: [{"deep": 2}]}
    [found] = changes(old, new, "payload", quoted_step)
    assert compiled(found.path).value({"payload": old}) == 1
