"""`actions:` of a rule, compiled; what stands under each kind's key is for `config/kinds/`."""

from collections.abc import Mapping

import msgspec

from router.config.chains import Chains
from router.config.context import LoadContext
from router.config.kinds import SCHEMAS
from router.config.kinds.base import CompileContext, Surroundings
from router.config.language import ExpressionSite, Language
from router.config.rule_schema import ActionEntry
from router.config.settings import chosen_retry, shape
from router.config.shared import SharedActions, SharedUse
from router.config.spelling import NAME
from router.kinds import KINDS
from router.model.retry import RetryPolicy
from router.model.settings import Api, Target
from router.rules.specs import CompiledAction


class ActionCompiler:
    """Compiles the actions of every rule against one file's targets and policies."""

    def __init__(
        self,
        language: Language,
        targets: Mapping[str, Target],
        policies: Mapping[str, RetryPolicy],
        apis: Mapping[str, Api],
    ) -> None:
        self.context: LoadContext = language.context
        self.language = language
        self.policies = policies
        self.shared = SharedActions(language)
        file = CompileContext(language, targets, apis)
        self._compilers = {key: row.compiler(file) for key, row in SCHEMAS.items()}

    def compile(
        self, entries: list[ActionEntry], around: Surroundings
    ) -> tuple[CompiledAction, ...]:
        """The actions of one rule in the order of the file."""
        found: dict[str, CompiledAction] = {}
        chains = Chains(self.context, entries)
        for entry in entries:
            if (action := self._chained(entry, around, chains)) is None:
                continue
            if action.id in found:
                self.context.error(
                    "duplicate-action",
                    f"this rule has two actions with the id '{action.id}'",
                    entry.id or entry.node,
                    None if entry.id else "give each an 'id'; an omitted id is the action's kind",
                )
            found[action.id] = action
        return tuple(found.values())

    def _chained(
        self, entry: ActionEntry, around: Surroundings, chains: Chains
    ) -> CompiledAction | None:
        """An action with what it waits for; only then it can read `results`."""
        self.language.results = chains.results(entry)
        place = ExpressionSite("'when'", around.roots, null="")
        when = None if entry.when is None else self.language.expression(entry.when, place)
        self.language.when = when
        action = self._action(entry, around)
        self.language.results = self.language.when = None
        after = chains.after(entry)
        if action is None or (when is None and not after):
            return action
        return msgspec.structs.replace(action, after=after, when=when)

    def check_unused(self, roots: frozenset[str]) -> None:
        """Find the faults of shared actions that no rule uses, as if any rule might."""
        around = Surroundings("", roots, None)
        for use in self.shared.unused():
            with self.shared.within(use, around.rule, None):
                self._step(use, around)

    def _action(self, entry: ActionEntry, around: Surroundings) -> CompiledAction | None:
        if entry.id is not None:
            shape(self.context, entry.id, NAME, "an action")
        keys = (*SCHEMAS, "use")
        if entry.broken & {*keys} or self.context.one_of("action-kind", entry, keys) is None:
            return None
        if (use := self.shared.used_by(entry, around.roots)) is None:
            return None
        with self.shared.within(use, around.rule, entry):
            return self._step(use, around)

    def _step(self, use: SharedUse, around: Surroundings) -> CompiledAction | None:
        entry = use.entry
        if use.shared and self.context.one_of("action-kind", entry, tuple(SCHEMAS)) is None:
            return None
        if not entry.chosen or entry.broken & SCHEMAS.keys():
            return None
        ((key, given),) = entry.chosen.items()
        kind = KINDS[SCHEMAS[key].kind]
        name = entry.id.value if entry.id else key
        spec, target = self._compilers[key](given, around)
        chosen = chosen_retry(self.context, entry.retry, self.policies)
        return CompiledAction(
            id=name,
            kind=kind.name,
            spec=spec,
            target=target or f"{around.rule}/{name}",
            retry=chosen or around.retry or kind.retry,
            on_interrupt=entry.on_interrupt or "rerun",
            given=use.given,
        )


def check_machine(context: LoadContext) -> None:
    """Warn of what the rules' actions name and this machine lacks."""
    for rule in context.file.rules or ():
        for action in rule.actions or ():
            for key, given in action.chosen.items():
                if (look := SCHEMAS[key].look) is not None:
                    look(context, given)
