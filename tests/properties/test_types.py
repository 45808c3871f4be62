"""Laws of the types: no tree and no shape crashes them, and what they rule out does not happen."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from router.errors import EvaluationError
from router.expressions import Failed
from router.expressions import compile as compiled
from router.typing.infer import value_type
from router.typing.lattice import (
    ABSENT,
    ANY,
    FALSE,
    FAULT,
    LIST,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    TRUE,
    Type,
    closed_object,
    elements,
)
from tests.chance import examples
from tests.misfits import misfit
from tests.properties.test_expressions import NAMES, documents
from tests.properties.test_expressions import expressions as plain
from tests.verdict_bits import verdict_bits

WORDS = ("", "x", "y", "xy")
FORMATS = (None, "joined")


# -- shapes, and values that fit them


def _texts() -> st.SearchStrategy[Type]:
    some = st.frozensets(st.sampled_from(WORDS), min_size=1, max_size=3)
    return st.builds(
        lambda texts, known, form: Type(TEXT, texts=texts, known=known, format=form),
        st.none() | some,
        st.just(frozenset()) | some,
        st.sampled_from(FORMATS),
    )


def _numbers() -> st.SearchStrategy[Type]:
    some = st.frozensets(st.integers(2, 5), min_size=1, max_size=2)
    return st.builds(lambda numbers: Type(NUMBER, numbers=numbers), st.none() | some)


def _larger(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    fields = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    return st.one_of(
        st.builds(lambda item: Type(LIST, item=_with(item, item.kinds & ~ABSENT)), inner),
        st.builds(closed_object, fields),
        st.builds(lambda found: Type(OBJECT, fields=found, rest=ANY), fields),
    )


def _with(kind: Type, kinds: int) -> Type:
    return Type(
        kinds,
        texts=kind.texts,
        numbers=kind.numbers,
        known=kind.known,
        format=kind.format,
        item=kind.item,
        fields=kind.fields,
        rest=kind.rest,
        stated=bool(kinds & (NULL | ABSENT)),
    )


def _borne(kind: Type, more: int) -> Type:
    return _with(kind, kind.kinds | more)


basics = st.one_of(
    _texts(), _numbers(), st.sampled_from([Type(TRUE | FALSE), Type(TRUE), Type(NULL), ANY])
)
nothings = st.sampled_from([0, 0, NULL, ABSENT, NULL | ABSENT])
shapes = st.recursive(
    st.builds(_borne, basics, nothings),
    lambda inner: st.builds(_borne, _larger(inner), nothings),
    max_leaves=6,
)
scopes = st.builds(
    closed_object, st.dictionaries(st.sampled_from(NAMES), shapes, min_size=1, max_size=3)
)


@st.composite
def fitting(draw: st.DrawFn, kind: Type) -> Any:
    """A value that fits, but for absence."""
    made = [bit for bit in (NULL, FALSE, TRUE, NUMBER, TEXT, LIST, OBJECT) if kind.kinds & bit]
    bit = draw(st.sampled_from(made or [NULL]))
    if bit == NUMBER:
        return draw(st.sampled_from(sorted(kind.numbers)) if kind.numbers else st.integers(2, 6))
    if bit == TEXT:
        return draw(st.sampled_from(sorted(kind.texts) if kind.texts else [*WORDS, "3"]))
    if bit == LIST:
        return draw(st.lists(fitting(elements(kind)), max_size=2))
    if bit == OBJECT:
        return draw(_fitting_object(kind))
    return {NULL: None, FALSE: False, TRUE: True}[bit]


@st.composite
def _fitting_object(draw: st.DrawFn, kind: Type) -> dict[str, Any]:
    found = (
        draw(st.dictionaries(st.sampled_from(NAMES), documents, max_size=1)) if kind.rest else {}
    )
    found = {name: value for name, value in found.items() if name not in kind.fields}
    for name, field in kind.fields.items():
        only_absent = not field.kinds & ~ABSENT
        if only_absent or (field.kinds & ABSENT and draw(st.booleans())):
            continue
        found[name] = draw(fitting(field))
    return found


# -- expressions


def _more(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    name = st.sampled_from(NAMES)
    text = st.sampled_from(["'x'", "'xy'", "''", "'3'"])
    sign = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    number = st.integers(1, 5).map("`{}`".format)
    kind = st.sampled_from(["'string'", "'array'", "'null'"])
    return st.one_of(
        st.builds("contains({}, {})".format, inner, text),
        st.builds("starts_with({}, {})".format, name, text),
        st.builds("default({}, {})".format, inner, text),
        st.builds("exists({}.{})".format, name, name),
        st.builds("if({}, {}, {})".format, inner, inner, inner),
        st.builds("lower({})".format, inner),
        st.builds("decimal({})".format, inner),
        st.builds("lookup({}, {})".format, name, text),
        st.builds("to_number({})".format, inner),
        st.builds("values({})".format, name),
        st.builds("reverse({})".format, inner),
        st.builds("{} == {}".format, name, text).map("({})".format),
        st.builds("{} {} {}".format, name, sign, number).map("({})".format),
        st.builds("length({}) {} {}".format, name, sign, number).map("({})".format),
        st.builds("lower({}) != {}".format, name, text).map("({})".format),
        st.builds("type({}) == {}".format, name, kind).map("({})".format),
        st.builds("{} != null".format, name).map("({})".format),
        st.builds("{}.{} == null".format, name, name).map("({})".format),
        st.builds("{} == {}".format, name, name).map("({})".format),
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("!({})".format, inner).map("({})".format),
        st.builds("({})[?{}]".format, inner, inner),
        st.builds("{}[?{} == $.{}]".format, name, name, name),
        st.builds("contains({}, {})".format, st.just("['x', 'y']"), name),
    )


expressions = st.recursive(plain | st.sampled_from(NAMES), _more, max_leaves=6)


@settings(max_examples=examples(500), deadline=None)
@given(expressions, scopes, st.data())
def test_a_verdict_that_is_ruled_out_never_comes(
    text: str, scope: Type, data: st.DataObject
) -> None:
    expression = compiled(text)
    bits, run = verdict_bits(expression, scope)
    reported = {f.code for f in run.findings if f.span == (0, len(text))}
    value = data.draw(_fitting_object(scope))
    assert misfit(scope, value) is None
    verdict = expression.verdict(value)
    assert "never-true" not in reported or verdict is not True
    assert "always-true" not in reported or verdict is True
    assert "never-false" not in reported or verdict is not False
    if isinstance(verdict, Failed):
        assert bits & FAULT, verdict
    else:
        assert bits & (TRUE if verdict else FALSE), verdict


@settings(max_examples=examples(500), deadline=None)
@given(expressions, scopes, st.data())
def test_a_value_is_of_its_type(text: str, scope: Type, data: st.DataObject) -> None:
    expression = compiled(text)
    kind, _ = value_type(expression, scope)
    value = data.draw(_fitting_object(scope))
    try:
        found = expression.value(value)
    except EvaluationError:
        assert kind.kinds & FAULT
        return
    if found is None:
        assert kind.kinds & (NULL | ABSENT)
    else:
        assert misfit(kind, found) is None
