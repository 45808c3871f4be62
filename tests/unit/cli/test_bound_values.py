"""`--var`: what is written there, and that it reaches conditions as a value."""

from typing import Any

import pytest

from router.cli.bound_values import bound_values
from router.errors import UsageError


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        ((), None),
        (("id=7",), {"id": "7"}),
        (("id:=7",), {"id": 7}),
        (("a=x=y\n", "b_2=:=1"), {"a": "x=y\n", "b_2": ":=1"}),
        (("empty=",), {"empty": ""}),
        (('l:=["a", null]',), {"l": ["a", None]}),
    ],
)
def test_a_value_is_text_unless_it_is_said_to_be_json(
    texts: tuple[str, ...], values: dict[str, Any] | None
) -> None:
    assert bound_values(texts) == values


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("id",), "takes NAME=VALUE"),
        (("=7",), "takes NAME=VALUE"),
        (("a.b=7",), "takes NAME=VALUE"),
        (("id:=seven",), "--var id:= takes JSON"),
        (("id:=1e999",), "--var id:= takes JSON"),
        (("id=1", "id=2"), "--var id is given twice"),
    ],
)
def test_what_is_not_written_so_is_refused(texts: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        bound_values(texts)
