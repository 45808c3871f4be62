"""`define:` and `rules:`: names, conditions, and the checks that look at a whole rule."""

from router.config.actions import ActionCompiler
from router.config.chains import concurrency
from router.config.context import LoadContext
from router.config.kinds.base import Surroundings
from router.config.language import ExpressionSite, Language
from router.config.rule_schema import ConditionEntry, RuleEntry
from router.config.rule_types import RuleTexts
from router.config.senders import EndpointSenders, EventNames, SenderSet
from router.config.settings import chosen_retry, shape
from router.config.spelling import ENDPOINTS_TAKEN, ID, NAME
from router.expressions import Expression
from router.model.settings import OWN
from router.rules.scope import ROOTS
from router.rules.specs import CompiledRule, Condition

ALL = "all"


def defines(
    context: LoadContext, language: Language, senders: EndpointSenders
) -> dict[str, Expression]:
    """The named expressions, each readable by the others but never by itself."""
    place = ExpressionSite("'define'", _offered(senders.behind(None)), null="")
    found = {}
    for name, entry in context.file.define or ():
        shape(context, name, NAME, "a definition")
        if (expression := language.expression(entry, place)) is not None:
            found[name.value] = expression
    return found


class RuleCompiler:
    """Compiles the rules of one file; `texts` are what the rules evaluate."""

    def __init__(
        self, language: Language, actions: ActionCompiler, senders: EndpointSenders
    ) -> None:
        self.context = language.context
        self.language = language
        self.actions = actions
        self.events = EventNames(self.context)
        self.senders = senders
        self.texts: list[RuleTexts] = []
        self._places: dict[int, frozenset[str]] = {}

    def compile(self, entries: list[RuleEntry]) -> tuple[CompiledRule, ...]:
        """Every rule in the order of the file."""
        found = tuple(self._typed(entry) for entry in entries)
        self.actions.check_unused(self._roots(self.senders.behind(None)))
        return found

    def _typed(self, entry: RuleEntry) -> CompiledRule:
        """One rule; what it evaluates is kept for the check of types."""
        begun = len(self.language.written)
        rule = self._rule(entry)
        self.texts.append(
            RuleTexts(
                entry,
                rule,
                self.senders.behind(rule.sources).senders,
                tuple(self.language.written[begun:]),
            )
        )
        return rule

    def _rule(self, entry: RuleEntry) -> CompiledRule:
        name = entry.id.value if entry.id is not None else ""
        if entry.id is not None:
            shape(self.context, entry.id, ID, "a rule")
        sources = self._sources(entry)
        behind = self.senders.behind(sources)
        self.events.check(entry.events or (), behind)
        roots = self._roots(behind)
        retry = chosen_retry(self.context, entry.retry, self.actions.policies)
        # Only the actions of a run for a whole batch can read its `events`.
        readable = roots | {"events"} if entry.per == "delivery" else roots
        around = Surroundings(name, readable, retry, sources or ())
        place = ExpressionSite("'match'", roots, null="")
        conditions = (self._condition(item, place) for item in entry.match or ())
        return CompiledRule(
            id=name,
            about=entry.about.value if entry.about else "",
            mode=entry.mode or "live",
            sources=sources,
            events=tuple(t.value for t in entry.events) if entry.events is not None else None,
            match=tuple(c for c in conditions if c is not None),
            otherwise=bool(entry.otherwise),
            actions=self.actions.compile(entry.actions or [], around),
            per_delivery=entry.per == "delivery",
            concurrency=concurrency(self.context, self.language, entry.concurrency, roots),
        )

    def _roots(self, behind: SenderSet) -> frozenset[str]:
        """One set for rules of the same senders, so that what is made of it is shared."""
        if id(behind) not in self._places:
            self._places[id(behind)] = _offered(behind)
        return self._places[id(behind)]

    def _sources(self, entry: RuleEntry) -> tuple[str, ...] | None:
        known = self.context.file.endpoints
        names = [text.value for text in entry.sources or ()]
        for text in entry.sources or ():
            if text.value not in ENDPOINTS_TAKEN and (known is None or text.value not in known):
                self.context.unknown(
                    "unknown-endpoint", "endpoint", text, known.items if known else ()
                )
        if ALL in names and OWN in names:  # `all` alone are those that senders reach
            names = [*(known.items if known else ()), OWN]
        return None if ALL in names else tuple(dict.fromkeys(names))

    def _condition(self, entry: ConditionEntry, place: ExpressionSite) -> Condition | None:
        if entry.test is not None:
            return Condition(entry.test.value, test=self.language.expression(entry.test, place))
        if not entry.broken and self.context.one_of("exactly-one", entry) is None:
            return None
        if entry.negated is not None:
            inner = self._condition(entry.negated, place)
            return Condition(f"not: {inner.source}", negate=inner) if inner else None
        several = tuple(self._condition(item, place) for item in entry.any_of or ())
        parts = tuple(c for c in several if c is not None)
        return Condition(f"any: [{', '.join(c.source for c in parts)}]", any_of=parts)


def _offered(behind: SenderSet) -> frozenset[str]:
    """The roots that at least one of the senders offers."""
    return ROOTS.union(*(provider.root_fields for provider in behind.providers.values()))
