"""Expressions and templates of the file: compiled once each, their faults under the caret."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import msgspec

from router import expressions
from router.config.context import LoadContext
from router.config.diagnostics import SHOWN_MAX
from router.errors import ExpressionError
from router.expressions import Expression, SimilarExpressions, Template
from router.expressions.reads import Use
from router.kinds.templates import JsonSpec
from router.rules.scope import ROOTS
from router.suggest import as_text
from router.yaml_source import (
    Mapping,
    Node,
    NumberError,
    Scalar,
    Sequence,
    SourceText,
    collision,
    quoting,
    resolve,
)

DELIVERY_FIELDS = frozenset(
    {"id", "event_id", "received_at", "index", "count", "verified_by", "replay_of"}
)
_COMMENT = re.compile(r"[ \t]+(#[^\r\n]*)")
_COMPARISON = re.compile(r"(?:==|!=)\s*$")


class ExpressionSite(msgspec.Struct, frozen=True):
    """
    A place where expressions stand: what may be read there.

    `secrets`: whether `secret.NAME` may; `whole` only as the one and only content. `null` is what
    follows if an expression gives null; nothing bad if it is empty. `delivery` are its fields.
    """

    name: str
    roots: frozenset[str]
    secrets: Literal["none", "any", "whole"] = "none"
    null: str = "the job is then dead"
    delivery: frozenset[str] = DELIVERY_FIELDS


class Written(msgspec.Struct, frozen=True):
    """
    A compiled text where it stands in the file; `place` is the name of its Place. `null` is what
    follows if it gives null, `when` what holds wherever it is read.
    """

    text: SourceText
    compiled: Expression | Template
    place: str
    null: str = ""
    when: Expression | None = None

    @property
    def expressions(self) -> Iterator[tuple[Expression, int]]:
        """Its expressions, and where each begins in the text."""
        if isinstance(self.compiled, Expression):
            yield self.compiled, 0
            return
        for at, part in enumerate(self.compiled.parts):
            if isinstance(part, Expression):
                yield part, self.compiled.offset_of(at)


class Language:
    """Compiles the texts of one file and checks the names that they read."""

    def __init__(self, context: LoadContext) -> None:
        self.context = context
        self.given: frozenset[str] | None = None
        """The parameters of the shared action that is being compiled: the root `with`."""
        self.results: frozenset[str] | None = None
        """The actions that the one being compiled comes after: the root `results`."""
        self.when: Expression | None = None
        """The condition of the action that is being compiled."""
        self.written: list[Written] = []
        """Everything compiled, in that order: what the types are checked of."""
        self._similar = SimilarExpressions(expressions.compile)
        self._compiled: dict[tuple[str, str], Expression | Template | ExpressionError] = {}

    def expression(self, text: SourceText, place: ExpressionSite) -> Expression | None:
        """The text as an expression, or None with its faults reported."""
        if self._cut_off(text):
            return None
        if not isinstance(compiled := self._compile(self._similar.compile, text), Expression):
            return None
        self._names(text, compiled, 0, place)
        self.written.append(Written(text, compiled, place.name, place.null))
        return compiled

    def template(
        self, text: SourceText, place: ExpressionSite, *, typed: bool = False
    ) -> Template | None:
        """
        The text as a template, or None with its faults reported. `typed`: a lone expression keeps
        its type there, null too.
        """
        if self._cut_off(text):
            return None
        compiled = self._compile(expressions.compile_template, text)
        if not isinstance(compiled, Template):
            return None
        null = "" if typed and compiled.whole is not None else place.null
        self.written.append(Written(text, compiled, place.name, null, self.when))
        if self.context.thorough:
            self.context.written.setdefault(text.value, []).append(text)
        for index, part in enumerate(compiled.parts):
            if isinstance(part, Expression):
                self._names(text, part, compiled.offset_of(index), place)
        if place.secrets == "whole" and "secret" in compiled.roots and compiled.whole is None:
            self.context.error(
                "secret-not-whole", f"in {place.name} a secret must be the whole text", text
            )
        return compiled

    @staticmethod
    def quiet_template(text: str) -> Template | None:
        """The text as a template if it is one; nothing is reported."""
        try:
            return expressions.compile_template(text)
        except ExpressionError:
            return None

    def json(self, node: Node, place: ExpressionSite, *, typed: bool = True) -> JsonSpec:
        """A JSON value whose texts are templates; see `template`."""
        if isinstance(node, Mapping):
            return {key.value: self.json(child, place, typed=typed) for key, child in node}
        if isinstance(node, Sequence):
            return [self.json(child, place, typed=typed) for child in node.items]
        value = plain_value(self.context, node)
        if not isinstance(value, str):
            return value
        return self.template(SourceText(value, node), place, typed=typed)

    # -- compiling ------------------------------------------------------------------------------

    def _compile(
        self, compile_: Callable[[str], Expression | Template], text: SourceText
    ) -> Expression | Template | None:
        key = (compile_.__name__, text.value)
        if (found := self._compiled.get(key)) is None:
            try:
                found = compile_(text.value)
            except ExpressionError as error:
                found = error
            self._compiled[key] = found
        if not isinstance(found, ExpressionError):
            return found
        span = (found.start, max(found.end, found.start + 1))
        hint = self._split_by_yaml(text) or found.hint
        self.context.error_within(found.code, found.message, text, span, hint)
        return None

    def _split_by_yaml(self, text: SourceText) -> str | None:
        """A comma inside `[ ]` or `{ }` of YAML ends a text that has no quotes."""
        node = text.node
        unbalanced = text.value.count("(") + text.value.count("[") > (
            text.value.count(")") + text.value.count("]")
        )
        if not isinstance(node, Scalar) or node.style or not unbalanced:
            return None
        if self.context.report.source.text[node.end : node.end + 1] == ",":
            return "YAML ended the text at the ','; put the whole expression in quotes"
        return None

    def _cut_off(self, text: SourceText) -> bool:
        """A ` #` in a text without quotes begins a comment, even inside an expression."""
        node, source = text.node, self.context.report.source
        if not isinstance(node, Scalar) or node.style:
            return False
        found = _COMMENT.match(source.text, node.end)
        if found is None or not _looks_cut(text.value, found[1]):
            return False
        line, start = source.line_at(node.end)
        whole = collision(source, node.start)
        if whole == text.value:  # what was cut has no quotes of its own
            whole = line[max(0, node.start - start) :].rstrip()
        self.context.report.error(
            "cut-by-comment",
            "a ' #' in a text without quotes begins a comment, so the text ends before it",
            *found.span(1),
            quoting(whole, (node.start, node.start + len(whole)))
            if len(whole) <= SHOWN_MAX
            else None,
        )
        return True

    # -- names ----------------------------------------------------------------------------------

    def _names(
        self, text: SourceText, expression: Expression, base: int, place: ExpressionSite
    ) -> None:
        known = place.roots if place.secrets == "none" else place.roots | {"secret"}
        known = known if self.given is None else known | {"with"}
        known = known if self.results is None else known | {"results"}
        for root in expression.roots:
            if root not in known:
                self._unknown_root(text, expression, base, (root, place))
        for use in expression.uses:
            if use[0] in known:
                self._use(text, expression, base, (use, place))
        for root in _NAMED.keys() & expression.roots & known:
            self._named(text, expression, base, root)

    def _unknown_root(
        self, text: SourceText, expression: Expression, base: int, what: tuple[str, ExpressionSite]
    ) -> None:
        root, place = what
        start, end = expression.spans.get(root, (0, len(expression.text)))
        written = expression.text[start:end]
        span = (base + start, base + end)
        named = written.startswith('"')
        meant = None if named else expressions.hint_of_root(expression.text, start)
        if root in _SECRET_HINT:
            code, hint = "root-not-here", _SECRET_HINT[root]
            message = f"'{root}' cannot be read in {place.name}"
        elif named or (meant is None and _COMPARISON.search(expression.text[:start])):
            code, hint = "bare-word", as_text(root)
            message = f"'{root}' is a bare word and means a field, not a text"
            if named:
                message = f'"{root}" in double quotes is the name of a field, not a text'
        elif meant is None and self._written_providers() - self.context.providers.keys():
            return  # it may be a field of the sender whose name is misspelt
        else:
            code, message = "unknown-root", f"'{root}' is not a name that {place.name} can read"
            # `ref` alone is no misspelling of `def`, which is always `def.NAME`.
            tables = _TABLES if expression.text[end : end + 1] != "." else frozenset()
            near = meant or self.context.suggest.hint(root, place.roots - tables)
            hint = near or self._elsewhere(root, place)
        self.context.error_within(code, message, text, span, hint)

    def _elsewhere(self, root: str, place: ExpressionSite) -> str:
        """Where an unknown root might have been meant to come from."""
        known = self.context.providers
        written = self._written_providers()
        owners = {name for name in written if name in known and root in known[name].root_fields}
        owners = owners or {p.name for p in known.values() if root in p.root_fields}
        if root in ROOTS:
            return f"known names: {', '.join(sorted(place.roots))}"
        hint = f"a field of the event is written payload.{root}"
        if owners:
            hint = f"only events of {' or '.join(sorted(owners))} have it; {hint}"
        return hint if place.name != "'group'" else f"one group of all is \"'{root}'\"; {hint}"

    def _written_providers(self) -> set[str]:
        return {e.provider.value for _, e in self.context.file.endpoints or () if e.provider}

    def _use(
        self, text: SourceText, expression: Expression, base: int, what: tuple[Use, ExpressionSite]
    ) -> None:
        use, place = what
        root, field = use
        known = place.delivery if root == "delivery" else self._fields(root)
        if root == "secret":
            self.context.used_secrets.add(field)
        if known is None or field in known:
            return
        start, end = expression.spans.get(use, expression.spans.get(root, (0, 1)))
        if (hint := self.context.suggest.hint(field, known)) is None and known:
            hint = "known names: " + ", ".join(sorted(known)[:8])
        self.context.error_within(
            "unknown-name", f"no '{field}' in '{root}'", text, (base + start, base + end), hint
        )

    def _fields(self, root: str) -> Iterable[str] | None:
        """The closed set of names below a root, or None if anything may stand there."""
        file = self.context.file
        tables = {"var": file.vars, "def": file.define, "secret": file.secrets}
        if root in tables:
            return () if (table := tables[root]) is None else table.items
        return {"with": self.given, "results": self.results}.get(root)

    def _named(self, text: SourceText, expression: Expression, base: int, root: str) -> None:
        """One of them must be named: which are read is known before anything runs."""
        if any(used == root for used, _ in expression.uses):
            return
        start, end = expression.spans.get(root, (0, len(expression.text)))
        code, what, name = _NAMED[root]
        self.context.error_within(
            code,
            f"{what} must be named directly, as in {root}.{name}",
            text,
            (base + start, base + end),
        )


_TABLES = frozenset({"def", "var"})
_NAMED = {
    "secret": ("secret-not-named", "a secret", "NAME"),
    "results": ("result-not-named", "the action", "ID"),
}
_SECRET_HINT = {
    "results": "only an action with 'after' can read the results of those it comes after",
    "with": "only a shared action, one of 'actions:' at the top level, has parameters",
    "secret": "secrets may stand in url, headers, query, auth, body and env of an action",
    "secrets": "a secret is written secret.NAME",
}


def _looks_cut(value: str, comment: str) -> bool:
    """Something is open where the comment begins, or the comment holds a template."""
    return (
        "{{" in comment
        or any(value.count(quote) % 2 for quote in "'\"`")
        or value.count("{{") > value.count("}}")
        or value.count("(") > value.count(")")
    )


def plain_value(context: LoadContext, node: Scalar) -> object:
    """A scalar as a JSON value: plain ones by the core schema, the rest as text."""
    if node.style:
        return node.value
    try:
        return resolve(node.value)
    except NumberError as reason:
        context.error("bad-value", str(reason), node)
        return None


def json_value(context: LoadContext, node: Node) -> object:
    """Any YAML value as a JSON value, texts as they are."""
    if isinstance(node, Mapping):
        return {key.value: json_value(context, child) for key, child in node}
    if isinstance(node, Sequence):
        return [json_value(context, child) for child in node.items]
    return plain_value(context, node)
