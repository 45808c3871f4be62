"""`define:` and `rules:`: names, conditions, and the checks that look at a whole rule."""

from collections.abc import Mapping

import msgspec

from router.config.actions import ActionCompiler, Surroundings
from router.config.chains import concurrency
from router.config.context import LoadContext
from router.config.endpoints import RESERVED, provider_of
from router.config.events import EventNames
from router.config.language import ROOTS, ExpressionSite, Language
from router.config.schema import ConditionEntry, RuleEntry
from router.config.settings import ID, NAME, chosen_retry, shape
from router.config.typing_rules import RuleTexts
from router.config.unsupported import RESERVED_WORDS
from router.expressions import Expression
from router.model.settings import OWN
from router.providers import Provider, own
from router.rules.specs import CompiledAction, CompiledRule, Condition
from router.yaml_source import SourceText

ALL = "all"


def defines(context: LoadContext, language: Language) -> dict[str, Expression]:
    """The named expressions, each readable by the others but never by itself."""
    everybody = _offered(_providers(context, None))
    place = ExpressionSite("'define'", everybody)
    found = {}
    for name, entry in context.file.define or ():
        shape(context, name, NAME, "a definition")
        _reserved(context, name)
        expression = language.expression(entry, place)
        if expression is not None:
            found[name.value] = expression
    _no_cycles(context, found)
    return found


def _reserved(context: LoadContext, name: SourceText) -> None:
    refusal = RESERVED_WORDS.get(name.value)
    if refusal:
        context.error(refusal.code, refusal.message, name, refusal.hint)


def _no_cycles(context: LoadContext, found: Mapping[str, Expression]) -> None:
    """Depth first without recursion; a definition on the path from itself is reported once."""
    done: set[str] = set()
    for start in found:
        path: dict[str, None] = {}
        pending: list[tuple[str, bool]] = [(start, False)]
        while pending:
            name, leaving = pending.pop()
            if leaving:
                del path[name]
                done.add(name)
            elif name in path:
                _cycle(context, name, list(path))
            elif name not in done:
                path[name] = None
                pending.append((name, True))
                pending.extend((used, False) for used in _used(found, name))


def _used(found: Mapping[str, Expression], name: str) -> list[str]:
    return sorted(field for root, field in found[name].uses if root == "def" and field in found)


def _cycle(context: LoadContext, name: str, path: list[str]) -> None:
    table = context.file.define
    if table is not None:
        circle = [*path[path.index(name) :], name]
        shown = " -> ".join(circle[:8]) + (" …" if len(circle) > 8 else "")
        message = f"the definition '{name}' needs itself: {shown}"
        context.error("define-cycle", message, table.items[name][0])


class RuleCompiler:
    """
    Compiles the rules of one file. `everybody` are the providers of all its endpoints; `texts`
    what the rules evaluate.
    """

    def __init__(self, language: Language, actions: ActionCompiler) -> None:
        self.context = language.context
        self.language = language
        self.actions = actions
        self.events = EventNames(self.context)
        self.everybody = _providers(self.context, None)
        self.texts: list[RuleTexts] = []
        self._lines: dict[str, int] = {}
        self._places: dict[frozenset[str], frozenset[str]] = {}

    def compile(self, entries: list[RuleEntry]) -> tuple[CompiledRule, ...]:
        """Every rule in the order of the file."""
        found = tuple(self._typed(entry) for entry in entries)
        self.actions.check_unused(self._roots(self.everybody))
        return found

    def _typed(self, entry: RuleEntry) -> CompiledRule:
        """One rule; what it evaluates is kept for the check of types."""
        begun = len(self.language.written)
        rule = self._rule(entry)
        written = tuple(self.language.written[begun:])
        providers = (
            self.everybody if rule.sources is None else _providers(self.context, rule.sources)
        )
        self.texts.append(RuleTexts(entry, rule, tuple(providers.values()), written))
        return rule

    def _rule(self, entry: RuleEntry) -> CompiledRule:
        name = self._name(entry)
        sources = self._sources(entry)
        providers = self.everybody if sources is None else _providers(self.context, sources)
        self.events.check(entry.events or (), providers)
        self._whole(entry)
        roots = self._roots(providers)
        retry = chosen_retry(self.context, entry.retry, self.actions.policies)
        place = ExpressionSite("'match'", roots)
        conditions = (self._condition(item, place) for item in entry.match or ())
        return CompiledRule(
            id=name,
            about=entry.about.value if entry.about else "",
            mode=entry.mode or "live",
            sources=sources,
            events=tuple(t.value for t in entry.events) if entry.events is not None else None,
            match=tuple(c for c in conditions if c is not None),
            otherwise=bool(entry.otherwise),
            actions=self._actions(entry, Surroundings(name, roots, retry, sources or ())),
            per_delivery=entry.per == "delivery",
            concurrency=concurrency(self.context, self.language, entry.concurrency, roots),
        )

    def _actions(self, entry: RuleEntry, around: Surroundings) -> tuple[CompiledAction, ...]:
        """Only the actions of a run for a whole batch can read its `events`."""
        if entry.per == "delivery":
            around = msgspec.structs.replace(around, roots=around.roots | {"events"})
        return self.actions.compile(entry.actions or [], around)

    def _roots(self, providers: dict[str, Provider]) -> frozenset[str]:
        key = frozenset(providers)
        if key not in self._places:
            self._places[key] = _offered(providers)
        return self._places[key]

    def _name(self, entry: RuleEntry) -> str:
        if entry.id is None:
            return ""
        shape(self.context, entry.id, ID, "a rule")
        start = self._lines.setdefault(entry.id.value, entry.id.node.start)
        if start != entry.id.node.start:
            where = self.context.report.source.told(start, entry.id.node.start)
            message = f"the rule id '{entry.id.value[:60]}' is taken by the rule in {where}"
            self.context.error("duplicate-rule", message, entry.id)
        return entry.id.value

    def _sources(self, entry: RuleEntry) -> tuple[str, ...] | None:
        known = self.context.file.endpoints
        names = [text.value for text in entry.sources or ()]
        for text in entry.sources or ():
            if text.value not in RESERVED and (known is None or text.value not in known):
                self.context.unknown(
                    "unknown-endpoint", "endpoint", text, known.items if known else ()
                )
        if ALL in names and OWN in names:  # `all` alone are those that senders reach
            names = [*(known.items if known else ()), OWN]
        return None if ALL in names else tuple(dict.fromkeys(names))

    def _whole(self, entry: RuleEntry) -> None:
        """Checks that look at several keys of one rule."""
        if entry.otherwise and entry.match:
            message = "'otherwise' runs when nothing else matched, so it cannot have a 'match'"
            self.context.error("otherwise-with-match", message, entry.key_at("match"))
        if entry.match is not None and not entry.match and "match" not in entry.broken:
            message = "'match' holds no condition, so this rule would take every event"
            hint = "leave it out if that is meant"
            self.context.error("empty-match", message, entry.key_at("match"), hint)
        if entry.actions is not None and not entry.actions and "actions" not in entry.broken:
            self.context.error("no-actions", "this rule has no actions", entry.key_at("actions"))
        for key, value in (("from", entry.sources), ("events", entry.events)):
            if value is not None and not value:
                message = f"'{key}' is an empty list, so this rule can never match"
                self.context.error("never-matches", message, entry.key_at(key))

    def _condition(self, entry: ConditionEntry, place: ExpressionSite) -> Condition | None:
        if entry.test is not None:
            test = self.language.expression(entry.test, place)
            return Condition(entry.test.value, test=test)
        if not entry.broken and self.context.one_of("exactly-one", entry, ("not", "any")) is None:
            return None
        if entry.negated is not None:
            inner = self._condition(entry.negated, place)
            return Condition(f"not: {inner.source}", negate=inner) if inner else None
        several = tuple(self._condition(item, place) for item in entry.any_of or ())
        parts = tuple(c for c in several if c is not None)
        if entry.any_of is not None and not entry.any_of:
            self.context.error(
                "never-matches", "'any' of nothing is never true", entry.key_at("any")
            )
        return Condition(f"any: [{', '.join(c.source for c in parts)}]", any_of=parts)


def _providers(context: LoadContext, sources: tuple[str, ...] | None) -> dict[str, Provider]:
    """
    The providers behind these endpoints, by canonical name; None means every endpoint that senders
    reach.
    """
    table = context.file.endpoints
    items = table.items if table is not None else {}
    found = {}
    if OWN in (sources or ()):
        found[OWN] = own()
    for name in items if sources is None else sources:
        entry = items[name][1] if name in items else None
        provider = provider_of(context, entry) if entry is not None else None
        if provider is not None:
            found[provider.name] = provider
    return found


def _offered(providers: dict[str, Provider]) -> frozenset[str]:
    """The roots that at least one of the providers offers."""
    return ROOTS.union(*(provider.root_fields for provider in providers.values()))
