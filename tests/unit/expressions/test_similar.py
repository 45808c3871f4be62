"""Texts that differ only in what they compare with: one is parsed, the others are moved."""

import pytest

from router.errors import ExpressionError
from router.expressions import Expression, SimilarExpressions
from router.expressions import compile as compiled


@pytest.mark.parametrize(
    ("first", "second", "parsed"),
    [
        ("a == 'x' && b == 'yy'", "a == 'xyz' && b == ''", 1),
        ("(a != 'x') || f.g == 'y'", "(a != '') || f.g == 'long'", 1),
        ("concat('== ', 'b') == 'x'", "concat('== ', 'b') == 'yz'", 1),
        ("concat('== ', 'b')", "concat('== ', 'c')", 2),
        ("\"a == 'b'\" == 'c'", "\"a == 'b'\" == 'dd'", 1),
        (r"a == 'it\'s'", r"a == 'x'", 2),
        ("a == `\"== 'x'\"`", "a == `\"== 'yy'\"`", 2),
        ("a[?b == 'x'].c | [0]", "a[?b == 'xx'].c | [0]", 1),
        ("starts_with(a, 'x')", "starts_with(a, 'y')", 2),
        ("if(a == 'x', b, c)", "if(a == 'xxx', b, c)", 1),
    ],
)
def test_the_second_is_what_it_would_be_by_itself(first: str, second: str, parsed: int) -> None:
    texts: list[str] = []

    def compile_(text: str) -> Expression:
        texts.append(text)
        return compiled(text)

    similar = SimilarExpressions(compile_)
    for text in (first, second, first):
        found, alone = similar.compile(text), compiled(text)
        assert (found.text, found.tree, found.names) == (text, alone.tree, alone.names)
        assert found.spans == alone.spans
    assert len(set(texts)) == parsed


def test_a_fault_stands_where_its_own_text_has_it() -> None:
    similar = SimilarExpressions(compiled)
    for text in ("a == 'x' && b = 'y'", "a == 'xyz' && b = 'y'"):
        with pytest.raises(ExpressionError) as fault:
            similar.compile(text)
        assert fault.value.start == text.index(" = ") + 1


def test_a_text_that_is_too_long_is_refused_whatever_it_is_like() -> None:
    similar = SimilarExpressions(compiled)
    similar.compile("a == 'x'")
    with pytest.raises(ExpressionError, match="at most 4096"):
        similar.compile(f"a == '{'x' * 5000}'")
