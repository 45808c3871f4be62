"""
Tokens into a tree, by binding power (Pratt): JMESPath's grammar with our deviations.

Ours are: numbers, true, false and null bare as an operand of a comparison, an argument or an
element of a list (but `[1]` is a position); `!` takes the whole path after it; `$`; commas are
needed where the grammar asks for them; and bounds on length, tokens and nesting, so that no text at
all can exhaust the stack.
"""

from collections.abc import Callable, Iterable
from typing import Any

from router.errors import ExpressionError
from router.expressions.nodes import Node, walk
from router.expressions.refusals import incomplete, unexpected
from router.expressions.tokens import SYNTAX, Token, tokens

LENGTH_MAX = 4096
TOKENS_MAX = 2000
NESTING_MAX = 40
DEPTH_MAX = 100
TOO_COMPLEX = "expression-too-complex"

_POWER = {
    "|": 1,
    "||": 2,
    "&&": 3,
    "==": 5,
    "!=": 5,
    "<": 5,
    "<=": 5,
    ">": 5,
    ">=": 5,
    "[]": 9,
    "*": 20,
    "[?": 21,
    ".": 40,
    "{": 50,
    "[": 55,
    "(": 60,
}
_NOT = 8  # below the dot, so that `!a.b` denies the path; above the comparisons
_STOPS_PROJECTION = 10
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_JOINS: dict[str, Any] = {"|": "pipe", "||": "or", "&&": "and"}
_WORDS = {"true": True, "false": False, "null": None}


def parse(text: str) -> Node:
    """The tree of a whole expression. Raises ExpressionError with offsets into `text`."""
    if len(text) > LENGTH_MAX:
        raise ExpressionError(
            TOO_COMPLEX, f"an expression has at most {LENGTH_MAX} characters", 0, len(text)
        )
    return parse_tokens(tokens(text), text)


def parse_tokens(stream: Iterable[Token], text: str) -> Node:
    """The tree of tokens that end with `end`. Raises ExpressionError."""
    tree = _Parser(list(stream), text).whole()
    _check_tree(tree)
    return tree


def _check_tree(tree: Node) -> None:
    for node, parent, depth in walk(tree):
        if depth > DEPTH_MAX:
            raise ExpressionError(TOO_COMPLEX, "this is nested too deeply", node.start, node.end)
        if node.bare and node.kind == "literal":
            raise ExpressionError(
                SYNTAX,
                "a bare number is only allowed in a comparison, a list or as an argument",
                node.start,
                node.end,
                f"write `{node.value}` in backticks",
            )
        if node.kind == "expref" and (parent is None or parent.kind != "call"):
            raise ExpressionError(
                SYNTAX,
                "'&' is only allowed before an argument",
                node.start,
                node.end,
                "write '&&' for 'and'",
            )


def _literal_word(node: Node) -> Node:
    """Bare numbers, true, false and null are literals here."""
    if not node.bare:
        return node
    value = _WORDS[node.value] if node.kind == "field" else node.value
    return Node("literal", node.start, node.end, value)


class _Parser:
    def __init__(self, stream: list[Token], text: str) -> None:
        self._tokens = stream
        self._text = text
        self._at = 0
        self._nesting = 0
        self._kind = stream[0][0]
        if len(stream) > TOKENS_MAX:
            raise ExpressionError(
                TOO_COMPLEX, f"an expression has at most {TOKENS_MAX} tokens", 0, len(text)
            )

    def whole(self) -> Node:
        tree = self._expression(0)
        if self._kind != "end":
            raise self._unexpected()
        return tree

    # -- tokens

    def _advance(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        self._kind = self._tokens[self._at][0] if self._at < len(self._tokens) else "end"
        return token

    def _peek(self, kind: str) -> bool:
        following = self._at + 1
        return following < len(self._tokens) and self._tokens[following][0] == kind

    def _expect(self, kind: str) -> Token:
        if self._kind != kind:
            raise self._unexpected(kind)
        return self._advance()

    def _end(self) -> int:
        """Where the token just taken ends."""
        return self._tokens[self._at - 1][3]

    def _unexpected(self, wanted: str | None = None) -> ExpressionError:
        at = min(self._at, len(self._tokens) - 1)
        token, taken = self._tokens[at], self._tokens[:at]
        if token[0] == "end":
            return incomplete(self._text, token, taken, wanted)
        return unexpected(token, taken, wanted)

    # -- the loop

    def _expression(self, power: int) -> Node:
        self._nesting += 1
        if self._nesting > NESTING_MAX:
            _, _, start, end = self._tokens[min(self._at, len(self._tokens) - 1)]
            raise ExpressionError(TOO_COMPLEX, "this is nested too deeply", start, end)
        if (first := _FIRST.get(self._kind)) is None:
            raise self._unexpected()
        left = first(self, self._advance())
        while power < _POWER.get(self._kind, 0):
            if (then := _THEN.get(self._kind)) is None:
                raise self._unexpected()
            left = then(self, left, self._advance())
        self._nesting -= 1
        return left

    # -- what may begin an expression

    def _name(self, token: Token) -> Node:
        return Node("field", token[2], token[3], token[1], (), token[1] in _WORDS)

    def _quoted(self, token: Token) -> Node:
        if self._kind == "(":
            raise ExpressionError(
                SYNTAX, "a function's name is written without quotes", token[2], token[3]
            )
        return Node("field", token[2], token[3], token[1])

    def _literal(self, token: Token) -> Node:
        return Node("literal", token[2], token[3], token[1], (), token[0] == "number")

    def _whole_value(self, token: Token) -> Node:
        return Node("root" if token[0] == "$" else "current", token[2], token[3])

    def _star(self, token: Token) -> Node:
        left = Node("current", token[2], token[2])
        right = self._nothing() if self._kind == "]" else self._projected(_POWER["*"])
        return self._node("value_projection", left, right)

    def _first_projection(self, token: Token) -> Node:
        project = self._filter if token[0] == "[?" else self._flatten
        return project(Node("current", token[2], token[2]), token)

    def _group(self, token: Token) -> Node:
        inner = self._expression(0)
        self._expect(")")
        inner.start, inner.end = token[2], self._end()
        return inner

    def _prefix(self, token: Token) -> Node:
        inner = self._expression(_NOT if token[0] == "!" else 0)
        kind: Any = "not" if token[0] == "!" else "expref"
        return Node(kind, token[2], inner.end, None, (inner,))

    def _first_bracket(self, token: Token) -> Node:
        whole = self._kind == "number" and type(self._tokens[self._at][1]) is int
        alone = whole and not self._peek(",")
        if alone or self._kind == ":" or (self._kind == "*" and self._peek("]")):
            return self._bracket(Node("current", token[2], token[2]), token)
        made = self._select_list(token)
        made.children = tuple(map(_literal_word, made.children))
        return made

    def _select_list(self, token: Token) -> Node:
        items = [self._expression(0)]
        while self._kind != "]":
            self._expect(",")
            items.append(self._expression(0))
        self._advance()
        return Node("select_list", token[2], self._end(), None, tuple(items))

    def _select_hash(self, token: Token) -> Node:
        keys, values = list[str](), list[Node]()
        while True:
            if self._kind not in ("name", "quoted"):
                raise self._unexpected("name")
            keys.append(self._advance()[1])
            self._expect(":")
            values.append(self._expression(0))
            if self._kind != ",":
                break
            self._advance()
        self._expect("}")
        return Node("select_hash", token[2], self._end(), tuple(keys), tuple(values))

    # -- what may follow

    def _dot(self, left: Node, _: Token) -> Node:
        if self._kind == "*":
            self._advance()
            return self._node("value_projection", left, self._projected(_POWER["."]))
        right = self._after_dot(_POWER["."])
        children = (*left.children, right) if left.kind == "chain" else (left, right)
        return Node("chain", left.start, right.end, None, children)

    def _after_dot(self, power: int) -> Node:
        if self._kind in ("name", "quoted", "*"):
            return self._expression(power)
        if self._kind == "[":
            return self._select_list(self._advance())
        if self._kind == "{":
            return self._select_hash(self._advance())
        raise self._unexpected("name")

    def _join(self, left: Node, token: Token) -> Node:
        right, kind = self._expression(_POWER[token[0]]), _JOINS[token[0]]
        children = (*left.children, right) if left.kind == kind else (left, right)
        return Node(kind, left.start, right.end, None, children)

    def _compare(self, left: Node, token: Token) -> Node:
        right = self._expression(_POWER[token[0]])
        operands = (_literal_word(left), _literal_word(right))
        return Node("compare", left.start, right.end, token[0], operands)

    def _call(self, left: Node, token: Token) -> Node:
        name = self._tokens[self._at - 2]
        if left.kind != "field" or name[0] != "name":
            raise ExpressionError(SYNTAX, "only a name can be called", left.start, token[3])
        arguments = list[Node]()
        while self._kind != ")":
            if arguments:
                self._expect(",")
            arguments.append(_literal_word(self._expression(0)))
        self._advance()
        return Node("call", left.start, self._end(), left.value, tuple(arguments))

    def _filter(self, left: Node, _: Token) -> Node:
        condition = self._expression(0)
        self._expect("]")
        right = self._nothing() if self._kind == "[]" else self._projected(_POWER["[?"])
        return Node("filter", left.start, self._end(), None, (left, right, condition))

    def _flatten(self, left: Node, _: Token) -> Node:
        flat = Node("flatten", left.start, self._end(), None, (left,))
        return self._node("list_projection", flat, self._projected(_POWER["[]"]))

    def _bracket(self, left: Node, _: Token) -> Node:
        if self._kind == "*":
            self._advance()
            self._expect("]")
            return self._node("list_projection", left, self._projected(_POWER["*"]))
        if self._kind == ":" or self._peek(":"):
            return self._node("list_projection", self._slice(left), self._projected(_POWER["*"]))
        position = self._position()
        self._expect("]")
        return Node("index", left.start, self._end(), position, (left,))

    def _slice(self, left: Node) -> Node:
        parts: list[int | None] = [None, None, None]
        at = 0
        while self._kind != "]":
            if self._kind == ":" and at < 2:
                at += 1
                self._advance()
            elif self._kind == "number" and parts[at] is None:
                parts[at] = self._position()
            else:
                raise self._unexpected("]")
        end = self._advance()[3]
        if parts[2] == 0:
            raise ExpressionError(SYNTAX, "a slice cannot step by 0", left.end, end)
        return Node("slice", left.start, end, tuple(parts), (left,))

    def _position(self) -> int:
        _, value, start, end = self._expect("number")
        if type(value) is not int:
            raise ExpressionError(SYNTAX, "a position is a whole number", start, end)
        return value

    def _projected(self, power: int) -> Node:
        """What is read of each element of a projection."""
        if _POWER.get(self._kind, 0) < _STOPS_PROJECTION:
            return self._nothing()
        if self._kind in ("[", "[?"):
            return self._expression(power)
        if self._kind == ".":
            self._advance()
            return self._after_dot(power)
        raise self._unexpected()

    # -- nodes

    def _nothing(self) -> Node:
        return Node("current", self._end(), self._end())

    def _node(self, kind: Any, left: Node, right: Node) -> Node:
        return Node(kind, left.start, max(self._end(), right.end), None, (left, right))


_FIRST: dict[str, Callable[[_Parser, Token], Node]] = {
    "name": _Parser._name,  # noqa: SLF001 - the table belongs to the class
    "quoted": _Parser._quoted,  # noqa: SLF001
    "text": _Parser._literal,  # noqa: SLF001
    "json": _Parser._literal,  # noqa: SLF001
    "number": _Parser._literal,  # noqa: SLF001
    "@": _Parser._whole_value,  # noqa: SLF001
    "$": _Parser._whole_value,  # noqa: SLF001
    "*": _Parser._star,  # noqa: SLF001
    "[?": _Parser._first_projection,  # noqa: SLF001
    "[]": _Parser._first_projection,  # noqa: SLF001
    "(": _Parser._group,  # noqa: SLF001
    "!": _Parser._prefix,  # noqa: SLF001
    "&": _Parser._prefix,  # noqa: SLF001
    "[": _Parser._first_bracket,  # noqa: SLF001
    "{": _Parser._select_hash,  # noqa: SLF001
}

_THEN: dict[str, Callable[[_Parser, Node, Token], Node]] = {
    ".": _Parser._dot,  # noqa: SLF001
    "|": _Parser._join,  # noqa: SLF001
    "||": _Parser._join,  # noqa: SLF001
    "&&": _Parser._join,  # noqa: SLF001
    "(": _Parser._call,  # noqa: SLF001
    "[?": _Parser._filter,  # noqa: SLF001
    "[]": _Parser._flatten,  # noqa: SLF001
    "[": _Parser._bracket,  # noqa: SLF001
    **dict.fromkeys(_COMPARISONS, _Parser._compare),  # noqa: SLF001
}
