"""
Text with `{{ expression }}` in it.

An expression ends where its tokens end, not at the first `}}`: `{{ '}}' }}` is one template, and
`{{ '{{' }}` writes a literal `{{`.
"""

from collections.abc import Callable, Iterator

from router.errors import EvaluationError, ExpressionError, RenderError
from router.expressions.absent import JSON
from router.expressions.compare import a_type, is_number, type_word
from router.expressions.expression import Expression, Scope, checked
from router.expressions.functions_text import plain_text
from router.expressions.idioms import translated
from router.expressions.json_text import encode_json
from router.expressions.parse import LENGTH_MAX, TOO_COMPLEX, parse_tokens
from router.expressions.reads import Use
from router.expressions.tokens import SYNTAX, Token, tokens

PARTS_MAX = 2_000
Part = str | Expression


class Template:
    """
    A compiled template; immutable.

    `parts` are literal texts and expressions in order; `whole` is set when the text is exactly
    one expression; `roots`, `uses` and `reads` are those of all its expressions.
    """

    __slots__ = ("_offsets", "parts", "text", "whole")

    text: str
    parts: tuple[Part, ...]
    whole: Expression | None

    def __init__(self, text: str, parts: tuple[Part, ...], offsets: tuple[int, ...]) -> None:
        self.text = text
        self.parts = parts
        self._offsets = offsets
        alone = len(parts) == 1 and isinstance(parts[0], Expression)
        self.whole = parts[0] if alone else None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Its expressions, in order."""
        return tuple(part for part in self.parts if isinstance(part, Expression))

    @property
    def roots(self) -> frozenset[str]:
        """The top-level names its expressions read."""
        return frozenset().union(*(part.roots for part in self.expressions))

    @property
    def uses(self) -> frozenset[Use]:
        """The (root, field) pairs its expressions read."""
        return frozenset().union(*(part.uses for part in self.expressions))

    @property
    def reads(self) -> frozenset[str]:
        """All roots that its text depends on; none: it is the same in every scope."""
        return frozenset().union(*(part.reads for part in self.expressions))

    def offset_of(self, part_index: int) -> int:
        """Where that part's text begins within `text`: add it to an expression's own offsets."""
        return self._offsets[part_index]

    def render(
        self,
        scope: Scope,
        *,
        place: str,
        encode: Callable[[str], str] | None = None,
        lenient: bool = False,
    ) -> str:
        """
        The text for this scope; `encode` is applied to each expression's text.

        Raises RenderError at `place` when an expression fails, or gives null, a list or an object
        (`lenient` prints those as JSON).
        """
        rendered = []
        for part in self.parts:
            if isinstance(part, str):
                rendered.append(part)
                continue
            text = _text_of(part, _value_of(part, scope, place), place, lenient)
            rendered.append(text if encode is None else encode(text))
        return "".join(rendered)

    def render_json(self, scope: Scope, *, place: str) -> JSON:
        """The expression's own value where the text is exactly one expression, else the text."""
        if self.whole is not None:
            return _value_of(self.whole, scope, place)
        return self.render(scope, place=place)


def _value_of(expression: Expression, scope: Scope, place: str) -> JSON:
    try:
        return expression.value(scope)
    except EvaluationError as fault:
        raise RenderError(place, f"{{{{ {expression.text} }}}}: {fault}") from None


def _text_of(expression: Expression, value: JSON, place: str, lenient: bool) -> str:
    if isinstance(value, str):
        return value
    try:
        if is_number(value) or isinstance(value, bool):
            return plain_text(value)
        if lenient:
            return encode_json(value).decode()
    except (EvaluationError, TypeError, ValueError, RecursionError) as fault:
        raise RenderError(place, f"{{{{ {expression.text} }}}}: {fault}") from None
    raise RenderError(
        place,
        f"{{{{ {expression.text} }}}} is {a_type(value)}: {_advice(type_word(value), expression)}",
    )


def _advice(word: str, expression: Expression) -> str:
    if word == "null":
        return f"give a fallback: default({expression.text}, …)"
    if word == "array":
        return f"give a separator: join(…, {expression.text}), or to_string(…) for JSON"
    return "name one of its fields, or write to_string(…) for JSON"


# -- compiling


def compile_template(text: str) -> Template:
    """The template of a text. Raises ExpressionError with offsets into the whole text."""
    parts, offsets = list[Part](), list[int]()
    position = 0
    while (opened := text.find("{{", position)) >= 0:
        if len(parts) > PARTS_MAX:
            raise ExpressionError(
                TOO_COMPLEX, f"a text has at most {PARTS_MAX:,} parts", opened, opened + 2
            )
        if opened > position:
            parts.append(text[position:opened])
            offsets.append(position)
        begin = opened + 2
        while begin < len(text) and text[begin] in " \t\r\n":
            begin += 1
        expression, position = _expression_at(text, opened, begin)
        parts.append(expression)
        offsets.append(begin)
    if position < len(text) or not parts:
        parts.append(text[position:])
        offsets.append(position)
    return Template(text, tuple(parts), tuple(offsets))


def _expression_at(text: str, opened: int, begin: int) -> tuple[Expression, int]:
    """The expression that begins at `begin`, and where the text goes on after its `}}`."""
    piece = text[begin : begin + LENGTH_MAX + 3]
    try:
        taken = list(_until_closed(tokens(piece)))
        if taken[-1][0] == "end":
            raise _unclosed(piece, opened - begin)
        end = taken.pop()[2]
        taken.append(("end", "", end, end))
        expression = checked(piece[:end].rstrip(), parse_tokens(taken, piece[:end]))
    except ExpressionError as caught:
        closed = piece.find("}}", caught.start)
        fault = translated(caught, piece[:closed].rstrip() if closed >= 0 else piece)
        start, stop = fault.start + begin, fault.end + begin
        raise ExpressionError(fault.code, fault.message, start, stop, fault.hint) from None
    except RecursionError:
        raise ExpressionError(
            TOO_COMPLEX, "this is nested too deeply", opened, begin + len(piece)
        ) from None
    return expression, begin + end + 2


def _until_closed(stream: Iterator[Token]) -> Iterator[Token]:
    """The tokens up to the first of two adjacent `}` that close no `{` of the expression."""
    depth = 0
    held: Token | None = None
    for token in stream:
        if held is not None:
            if token[0] == "}" and token[2] == held[3]:
                yield held
                return
            yield held
            held = None
        if token[0] == "}" and depth == 0:
            held = token
            continue
        depth += (token[0] == "{") - (token[0] == "}")
        yield token


def _unclosed(piece: str, opened: int) -> ExpressionError:
    if len(piece) > LENGTH_MAX:
        return ExpressionError(
            TOO_COMPLEX, f"an expression has at most {LENGTH_MAX} characters", opened, opened + 2
        )
    return ExpressionError(
        SYNTAX, "this '{{' has no '}}'", opened, opened + 2, "a literal '{{' is {{ '{{' }}"
    )
