"""
What can be changed in a source: one place, one change, by text.

Texts for people (a string with a space in it), log lines, `__repr__`, annotations, decorators and
docstrings stay as they are: they decide nothing. SQL is no text for people.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
SUMS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|WHERE|HAVING|CASE WHEN|ON CONFLICT)\b")
IN_SQL = (
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" = ", " <> "),
    (r" AND (?!\? )", " OR "),
    (r" OR (?!IGNORE)", " AND "),
    (r" IS NULL", " IS NOT NULL"),
    (r" IS NOT NULL", " IS NULL"),
    (r"\bNOT (?=IN\b|waits)", ""),
    (r"\bmax\(", "min("),
    (r"\bmin\(", "max("),
    (r" DESC\b", ""),
    (r"(?<= )\+ ", "- "),
    (r"(?<= )- ", "+ "),
    (r"(?<=[ (])0\b", "1"),
    (r"(?<=[ (])1\b", "2"),
)
_LOGS = re.compile(r"\b_?log\b")
Change = tuple[ast.AST, str, str]
"""A node, its new text, and the kind of the change."""


@dataclass(frozen=True)
class Mutant:
    """
    In `file` the bytes from `start` to `end` become `new`.

    `within` is the function or class around them, `row` their line as it stands.
    """

    file: str
    line: int
    within: str
    row: str
    kind: str
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        # Of a long text, as SQL is, what stands around the change.
        same = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
        first = max(0, same - 30) if self.kind == "sql" else 0
        shown = old[first : first + 70], new[first : first + 70]
        return f"{self.file}:{self.line} {self.kind}: {shown[0]} -> {shown[1]}"

    def applied(self, source: bytes) -> bytes:
        """The source with the change in it."""
        return source[: self.start] + self.new.encode() + source[self.end :]


class _Source:
    """A source by bytes: where each node of its tree begins and ends."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._starts = [0]
        for row in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(row))

    def span(self, node: Any) -> tuple[int, int]:
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.source[start:end].decode()


@lru_cache(maxsize=64)
def mutants(file: str, source: bytes) -> tuple[Mutant, ...]:
    """Every change of a source, in the order of its text."""
    read = _Source(source)
    rows = source.decode().splitlines()
    found = []
    for node, new, kind, within in _walk(ast.parse(source), read, ""):
        place: Any = node
        start, end = read.span(node)
        old = read.text(node)
        if " ".join(old.split()) != " ".join(new.split()):
            row = rows[place.lineno - 1].strip()
            found.append(Mutant(file, place.lineno, within, row, kind, start, end, old, new))
    return tuple(sorted(set(found), key=lambda one: (one.start, one.end, one.kind, one.new)))


def _walk(node: ast.AST, source: _Source, within: str) -> Iterator[tuple[ast.AST, str, str, str]]:
    if _decides_nothing(node):
        return
    for change in _changes(node, source):
        yield *change, within
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        within = f"{within}.{node.name}".lstrip(".")
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "pattern"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(node, ast.JoinedStr):
                yield from _walk(child, source, within)


def _decides_nothing(node: ast.AST) -> bool:
    match node:
        case (
            ast.Expr(value=ast.Constant())
            | ast.Import()
            | ast.ImportFrom()
            | ast.Assert()
            | ast.FunctionDef(name="__repr__")
            | ast.If(test=ast.Name(id="TYPE_CHECKING"))
            | ast.Assign(targets=[ast.Name(id="__slots__")])
            | ast.Subscript(value=ast.Name(id="Literal" | "Callable" | "tuple" | "dict" | "list"))
        ):
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return _LOGS.search(ast.unparse(func)) is not None
    return False


def _changes(node: ast.AST, source: _Source) -> Iterator[Change]:
    if isinstance(node, ast.stmt):
        yield from _of_statement(node)
    elif isinstance(node, ast.Constant | ast.JoinedStr):
        yield from _of_constant(node, source)
    elif isinstance(node, ast.expr):
        yield from _of_expression(node)
    elif isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield test, "True", "filter"


def _of_statement(node: ast.stmt) -> Iterator[Change]:
    match node:
        case ast.If(test=test):
            yield test, "True", "branch"
            yield test, "False", "branch"
        case ast.While(test=test):
            yield test, "False", "branch"
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield value, "None", "return"
        case ast.Raise() | ast.Continue() | ast.Break() | ast.Delete() | ast.AugAssign():
            yield node, "pass", "statement"
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield node, "pass", "statement"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "pass", "statement"


def _of_expression(node: ast.expr) -> Iterator[Change]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            for other in COMPARISONS[type(op)]:
                turned = ast.Compare(left, [other()], [right])
                yield node, f"({ast.unparse(turned)})", "comparison"
        case ast.BoolOp(op=op, values=values):
            turned = ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield node, f"({ast.unparse(turned)})", "and/or"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"({ast.unparse(operand)})", "not"
        case ast.IfExp(test=test):
            yield test, "True", "branch"
            yield test, "False", "branch"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SUMS and not _is_type(node):
            turned_sum = ast.BinOp(left, SUMS[type(op)](), right)
            yield node, f"({ast.unparse(turned_sum)})", "sum"


def _of_constant(node: ast.Constant | ast.JoinedStr, source: _Source) -> Iterator[Change]:
    text = source.text(node)
    if (isinstance(node, ast.JoinedStr) or isinstance(node.value, str)) and SQL.search(text):
        yield from _of_sql(node, text)
        return
    match node:
        case ast.Constant(value=bool() as value):
            yield node, str(not value), "constant"
        case ast.Constant(value=int() | float() as number):
            yield node, f"({number + 1!r})", "constant"
            yield node, f"({number - 1!r})", "constant"
        case ast.Constant(value=str() as word) if word and " " not in word:
            yield node, repr(f"not {word}"), "constant"
        case ast.Constant(value=bytes() as word) if word and b" " not in word.strip():
            yield node, repr(b"not " + word), "constant"


def _of_sql(node: ast.AST, text: str) -> Iterator[Change]:
    for pattern, new in IN_SQL:
        for place in re.finditer(pattern, text):
            yield node, text[: place.start()] + new + text[place.end() :], "sql"


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_type(node: ast.BinOp) -> bool:
    """`int | None` where a type is named, as in `isinstance`."""
    return isinstance(node.op, ast.BitOr) and all(
        isinstance(side, ast.Name | ast.Attribute | ast.Constant | ast.BinOp | ast.Subscript)
        for side in (node.left, node.right)
    )
