"""Templates: where an expression ends, what becomes text, what keeps its type."""

import re
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pytest

from router.errors import ExpressionError, RenderError
from router.expressions import Expression, compile_template

SCOPE: dict[str, Any] = {
    "payload": {
        "id": 7,
        "price": Decimal("1.50"),
        "ok": True,
        "s": "a b",
        "l": [1],
        "o": {"x": None},
    }
}


def render(text: str, **options: Any) -> str:
    return compile_template(text).render(SCOPE, place="http.path", **options)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", ""),
        ("plain } }} text", "plain } }} text"),
        ("/orders/{{ payload.id }}/x", "/orders/7/x"),
        ("{{payload.price}}|{{ payload.ok }}", "1.50|true"),
        ("{{ '{{' }}x{{ '}}' }}", "{{x}}"),
        ("{{ {a: payload.s}.a }}", "a b"),
        ("{{ {a: {a: payload.s}}.a.a}}", "a b"),
        ("{{\n payload.id\n}}", "7"),
        ("{{ default(payload.gone, 'y') }}", "y"),
        ("a { b {{ payload.id }}", "a { b 7"),
    ],
)
def test_text(text: str, result: str) -> None:
    assert render(text) == result


@pytest.mark.parametrize("text", ["{{ payload.gone }}", "{{ payload.l }}", "x{{ payload.o }}"])
def test_null_lists_and_objects_are_no_text(text: str) -> None:
    with pytest.raises(RenderError, match=r"http\.path: \{\{ payload\."):
        render(text)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("{{ payload.gone }}", "give a fallback: default(payload.gone, …)"),
        ("x{{ payload.l }}", "give a separator: join(…, payload.l), or"),
    ],
)
def test_what_is_no_text_says_what_to_write_and_leaves_the_value_to_the_reader(
    text: str, advice: str
) -> None:
    with pytest.raises(RenderError, match=re.escape(advice)):
        render(text)


def test_lenient_prints_json() -> None:
    text = "{{ payload.gone }} {{ payload.l }} {{ payload.o }}"
    assert render(text, lenient=True) == 'null [1] {"x":null}'


def test_encode_touches_expressions_only() -> None:
    assert render("a b/{{ payload.s }}", encode=quote) == "a b/a%20b"


def test_failing_expression_names_itself() -> None:
    with pytest.raises(RenderError, match=r"\{\{ lower\(payload.id\) \}\}: lower\(\) needs string"):
        render("{{ lower(payload.id) }}")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ payload.l }}", [1]),
        ("{{ payload.gone }}", None),
        ("{{ payload.id }}", 7),
        (" {{ payload.id }}", " 7"),
        ("x", "x"),
    ],
)
def test_json_keeps_the_type_of_a_whole_template(text: str, result: Any) -> None:
    assert compile_template(text).render_json(SCOPE, place="http.json") == result


def test_parts_offsets_roots_uses() -> None:
    text = "a {{  payload.id }} {{ secret.erp }}"
    template = compile_template(text)
    assert template.whole is None
    assert template.roots == {"payload", "secret"}
    assert template.uses == {("payload", "id"), ("secret", "erp")}
    for index, part in enumerate(template.parts):
        own = part.text if isinstance(part, Expression) else part
        assert text[template.offset_of(index) :].startswith(own)
    assert [p.text for p in template.expressions] == ["payload.id", "secret.erp"]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("ab {{ payload.id", "{{"),
        ("ab {{ payload.id }", "{{"),
        ("ab {{ a = b }}", "="),
        ("ab {{ lowr(x) }} c", "lowr"),
        ("{{ 'x }}", "'x }}"),
        ("{{ a }} {{ a and b }}", "and"),
        ("{{ a } }}", "}"),
    ],
)
def test_refusals_point_into_the_whole_text(text: str, marked: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_template(text)
    assert text[caught.value.start : caught.value.end] == marked


def test_an_empty_template_is_refused() -> None:
    with pytest.raises(ExpressionError, match="empty"):
        compile_template("x {{ }}")


def test_hostile_templates_are_refused_quickly() -> None:
    for text in ("{{" * 50_000, "{{ a " + "b" * 100_000, "{{" + "(" * 5000 + "}}"):
        with pytest.raises(ExpressionError):
            compile_template(text)


def test_parts_are_bounded() -> None:
    """Each is compiled by itself and kept: a text of many would fill the memory."""
    assert len(compile_template("{{ a }} " * 1_000).parts) == 2_000
    with pytest.raises(ExpressionError) as error:
        compile_template("{{ a }}" * 2_002)
    assert (error.value.code, error.value.start) == ("expression-too-complex", 2_001 * 7)
