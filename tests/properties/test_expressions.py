"""Laws of the expression language, on generated expressions and documents."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import jmespath
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from jmespath.exceptions import JMESPathError

from router.errors import EvaluationError, ExpressionError
from router.expressions import FUNCTIONS, Failed, SimilarExpressions, compile_template
from router.expressions import compile as compiled
from router.expressions.compare import same
from router.expressions.functions_text import glob
from router.expressions.nodes import Node
from router.expressions.regex import REGEX_FUNCTIONS, fault_of
from router.expressions.verdict import build_verdict
from tests.chance import examples

NAMES = ("a", "b", "c")

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(2, 6), st.sampled_from(["", "x", "y", "xy"])
)  # no 0 and 1: the reference takes them for booleans inside lists
documents = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(NAMES), documents, max_size=3)

literals = st.sampled_from(["`3`", "'x'", "`true`", "`null`", "`[2, 3]`", '`{"a": 2}`'])
fields = st.sampled_from([*NAMES, '"a"', "@"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    name = st.sampled_from(NAMES)
    sign = st.sampled_from(["==", "!="])
    order = st.sampled_from(["<", "<=", ">", ">="])
    return st.one_of(
        st.builds("{}.{}".format, fields, name),
        st.builds("({}).{}".format, inner, name),
        st.builds("({})[{}]".format, inner, st.integers(-3, 3)),
        st.builds("({})[{}:]".format, inner, st.integers(-3, 3)),
        st.builds("({})[::{}]".format, inner, st.sampled_from([-1, 2])),
        st.builds("({})[*].{}".format, inner, name),
        st.builds("({})[]".format, inner),
        st.builds("({}).*".format, inner),
        st.builds("({})[?{}].{}".format, inner, inner, name),
        st.builds("({})[?{}]".format, inner, inner),
        st.builds("{} {} {}".format, inner, sign, literals).map("({})".format),
        st.builds("{} {} `3`".format, inner, order).map("({})".format),
        st.builds("({} || {})".format, inner, inner),
        st.builds("({} && {})".format, inner, inner),
        st.builds("!({})".format, inner).map("({})".format),
        st.builds("({} | {})".format, inner, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("{{a: {}, b: {}}}".format, inner, inner),
        st.builds("type({})".format, inner),
        st.builds("to_array({})".format, inner),
        st.builds("not_null({}, {})".format, inner, inner),
        st.builds("length({})".format, inner),
        st.builds("sort({})".format, inner),
        st.builds("map(&{}, {})".format, inner, inner),
        st.builds("max_by({}, &{})".format, inner, inner),
    )


expressions = st.recursive(fields, _grown, max_leaves=8)


def _reference(text: str, value: Any) -> tuple[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "value", jmespath.search(text, value)
    except JMESPathError:
        return "error", None
    except (TypeError, AttributeError):
        return "crash", None  # the reference's own; we answer null or an error


def _ours(text: str, value: Any) -> tuple[str, Any]:
    try:
        return "value", compiled(text).search(value)
    except EvaluationError:
        return "error", None


@settings(max_examples=examples(600), deadline=None)
@given(expressions, documents)
def test_value_reading_agrees_with_the_reference(text: str, value: Any) -> None:
    assume(not re.search(r"\]\)*\[-?\d*:", text))  # a slice after a position: see deviations
    kind, wanted = _reference(text, value)
    assume(kind != "crash")
    ours, result = _ours(text, value)
    assert ours == kind, (result, wanted)
    assert kind == "error" or same(result, wanted), (result, wanted)


@settings(max_examples=examples(400), deadline=None)
@given(expressions, objects)
def test_verdict_never_raises(text: str, scope: dict[str, Any]) -> None:
    verdict = compiled(text).verdict(scope)
    assert verdict is True or verdict is False or isinstance(verdict, Failed)


@settings(max_examples=300, deadline=None)
@given(st.lists(expressions, min_size=2, max_size=4), objects, st.randoms())
def test_order_of_conditions_changes_nothing(
    texts: list[str], scope: dict[str, Any], random: Any
) -> None:
    shuffled = random.sample(texts, len(texts))
    for sign in ("&&", "||"):
        one = compiled(f" {sign} ".join(f"({text})" for text in texts)).verdict(scope)
        two = compiled(f" {sign} ".join(f"({text})" for text in shuffled)).verdict(scope)
        assert type(one) is type(two)
        assert isinstance(one, Failed) or one is two


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["a", "a.b", "a.b.c", "a.b.c.a"]),
    st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
    st.sampled_from(["'x'", "3", "null", "true", "3.0"]),
    objects,
)
def test_fast_shapes_judge_like_the_general_one(
    path: str, sign: str, literal: str, scope: dict[str, Any]
) -> None:
    expression = compiled(f"{path} {sign} {literal}")
    left, right = expression.tree.children
    hidden = Node("pipe", 0, 0, None, (left, Node("current", 0, 0)))  # no plain path any more
    other = right
    if right.value is not None:
        other = Node("pipe", 0, 0, None, (right, Node("current", 0, 0)))
    general = build_verdict(Node("compare", 0, 0, sign, (hidden, other)))(scope, scope)
    verdict = expression.verdict(scope)
    assert type(verdict) is type(general)
    assert isinstance(verdict, Failed) or verdict is general


hostile = st.one_of(
    documents,
    st.text(max_size=8),
    st.sampled_from(["1e400", "-0", "2026-11-20", "9999-12-31T23:59:59-12:00", "::1", "*a*", "@"]),
    st.integers(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.floats(),
    st.lists(st.one_of(st.integers(), st.floats(), st.decimals(places=2)), max_size=4),
)


@settings(max_examples=examples(1500), deadline=None)
@given(st.sampled_from(sorted(FUNCTIONS)), st.lists(hostile, min_size=4, max_size=4), st.data())
def test_functions_answer_or_fail_in_words(name: str, values: list[Any], data: Any) -> None:
    function = FUNCTIONS[name]
    most = 4 if function.most is None else function.most
    count = data.draw(st.integers(function.least, most))
    of = [function.parameter(at) for at in range(count)]
    arguments = [
        "&@" if "expref" in one.types else "'^.'" if one.pattern else f"$.v[{at}]"
        for at, one in enumerate(of)
    ]
    given_value = {"v": values, "delivery": {"received_at": "2026-11-20T12:00:00.000Z"}}
    try:
        compiled(f"{name}({', '.join(arguments)})").search(given_value)
    except EvaluationError as fault:
        words = str(fault)
    else:
        words = "answered"
    assert "cannot be read (" not in words  # that is how an unforeseen exception is reported


@settings(max_examples=examples(500), deadline=None)
@given(st.text(st.sampled_from("abc01.5'\"`[]{}()?*&|!=<>@$,: -\\"), max_size=40))
def test_any_text_is_compiled_or_refused_with_a_place(text: str) -> None:
    for make in (compiled, compile_template):
        fault = _refusal(make, text)
        assert fault is None or 0 <= fault.start <= fault.end <= len(text)
        assert fault is None or fault.message


regexes = st.one_of(
    st.text(st.sampled_from("ab.*+?|()[]{}^$\\dpPk<>=!:-,19 \n"), max_size=30), st.text(max_size=30)
)


@settings(max_examples=examples(800), deadline=None)
@given(regexes, st.text(max_size=40))
def test_any_pattern_is_refused_with_its_place_or_fits_any_text_or_not(
    pattern: str, text: str
) -> None:
    if (fault := fault_of(pattern)) is not None:
        assert 0 <= fault.start <= fault.end <= len(pattern)
        assert fault.message
        return
    fits = REGEX_FUNCTIONS["matches"](pattern)(text)
    found = REGEX_FUNCTIONS["capture"](pattern)(text)
    assert fits is True or fits is False
    assert fits or found is None
    assert isinstance(found, str | dict | None)


@settings(max_examples=examples(300), deadline=None)
@example("/a//a/", "/**///**/")  # a folder without a name is none that `**` may share
@example("a", "**/a")  # what begins the pattern begins a folder's name, too
@given(
    st.text(st.sampled_from("ab/"), max_size=12),
    st.lists(st.sampled_from(["a", "b", "/", "*", "/**/"]), max_size=6).map("".join),
)
def test_two_stars_between_slashes_are_any_folders_and_none(text: str, pattern: str) -> None:
    assume("**/**" not in pattern)
    folders = f"/{pattern}".replace("/**/", "\0")  # as if a slash stood before both
    meant = re.escape(folders).replace(r"\*", ".*").replace("\0", "/(?:.*/)?")
    assert glob(text, pattern) is (re.fullmatch(meant, f"/{text}") is not None)


def _refusal(make: Callable[[str], object], text: str) -> ExpressionError | None:
    try:
        make(text)
    except ExpressionError as fault:
        return fault
    return None


@settings(max_examples=200, deadline=None)
@given(expressions)
def test_every_node_stands_inside_its_text(text: str) -> None:
    pending = [compiled(text).tree]
    while pending:
        node = pending.pop()
        assert 0 <= node.start <= node.end <= len(text)
        pending.extend(node.children)


@settings(max_examples=examples(400), deadline=None)
@given(expressions, st.lists(st.text("xy' =\"`", max_size=6), min_size=1, max_size=4))
def test_one_outline_has_one_tree(text: str, words: list[str]) -> None:
    similar = SimilarExpressions(compiled)
    for word in words:
        quoted = "'" + word.replace("'", "\\'") + "'"
        changed = text.replace("'x'", quoted)
        assert similar.compile(changed).tree == compiled(changed).tree
