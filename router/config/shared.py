"""`actions:` at the top level: steps that rules use by name, checked anew at each use."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from router.config.context import LoadContext
from router.config.language import ExpressionSite, Language
from router.config.rule_schema import ActionEntry, SharedActionEntry
from router.config.settings import shape
from router.config.spelling import NAME
from router.kinds.templates import JsonSpec
from router.suggest import FixHint
from router.yaml_source import Scalar, SourceText, Table, scalars

ROOT = "with"
_PLACES_OF_USE = ("id", "use", "after", "when")
"""Keys that say when and where a step runs: they belong to the rule."""
_OF_THE_USE = frozenset({"node", "broken", "use", "given", "chosen"})

Given = tuple[tuple[str, JsonSpec], ...]


class SharedUse(msgspec.Struct, frozen=True):
    """A step of a rule with what it uses filled in, and the values of its parameters."""

    entry: ActionEntry
    given: Given = ()
    shared: SharedActionEntry | None = None


def hint_with_user(
    context: LoadContext, at: int, hint: str | None, rule: SourceText | None
) -> str | None:
    """The hint of a fault at an offset; within a shared action it says which rule uses that."""
    for _, entry in context.file.actions or ():
        if rule is not None and entry.node.start <= at < entry.node.end:
            where = context.report.source.where(rule.node.start, at)
            said = f"used by the rule '{rule.shown}' in {where}"
            whole = f"{hint}; {said}" if hint else said
            return hint.saying(whole) if isinstance(hint, FixHint) else whole
    return hint


class SharedActions:
    """The shared actions of one file."""

    def __init__(self, language: Language) -> None:
        self.context: LoadContext = language.context
        self._language = language
        self._table: Table[SharedActionEntry] | None = language.context.file.actions
        self._reads: dict[int, dict[str, Scalar]] = {}
        """The parameters that each shared action reads, and where first, by its place."""
        self._reported: set[tuple[str, int, int, str, str]] = set()
        self._used: set[str] = set()
        for name, entry in self._table or ():
            self._shape(name, entry)
            self._reads[entry.node.start] = dict(self._readings(entry))

    def unused(self) -> Iterator[SharedUse]:
        """What no rule uses; each is warned about."""
        for name, shared in self._table or ():
            if name.value not in self._used:
                self.context.warning(
                    "unused-action", f"the shared action '{name.shown}' is used nowhere", name
                )
                yield SharedUse(msgspec.structs.replace(shared, id=name), (), shared)

    def used_by(self, entry: ActionEntry, roots: frozenset[str]) -> SharedUse | None:
        """What a step of a rule comes to; None when it uses something that is not there."""
        if entry.use is None:
            if entry.given is not None and "use" not in entry.broken:
                self.context.error(
                    "with-without-use",
                    "'with' hands values to a shared action; this step uses none",
                    entry.key_at("with"),
                )
            return SharedUse(entry)
        name = entry.use.value
        self._used.add(name)
        if (table := self._table) is None or name not in table:
            known = table.items if table else ()
            self.context.unknown("unknown-shared-action", "shared action", entry.use, known)
            return None
        if (shared := table.items[name][1]) is None:
            return None  # reported where it stands
        own = {f: getattr(entry, f) for f in entry.__struct_fields__ if f not in _OF_THE_USE}
        own = {field: value for field, value in own.items() if value is not None}
        return SharedUse(
            msgspec.structs.replace(shared, **{"id": entry.use, **own}),
            self._given(entry, shared, roots),
            shared,
        )

    @contextmanager
    def within(self, use: SharedUse, rule: str, place: ActionEntry | None) -> Iterator[None]:
        """In here a shared action is compiled: `with` can be read, and faults say who uses it."""
        report, shared = self.context.report, use.shared
        before = len(report.found)
        self._language.given = None if shared is None else self._parameters(shared)
        yield
        self._language.given = None
        if shared is not None and place is not None and place.use is not None:
            new = report.found[before:]
            del report.found[before:]
            user, at = SourceText(rule, place.use.node), shared.node.start
            for found in new:
                key = (found.file, found.line, found.column, found.code, found.message)
                if key not in self._reported:
                    self._reported.add(key)
                    report.found.append(
                        msgspec.structs.replace(
                            found, hint=hint_with_user(self.context, at, found.hint, user)
                        )
                    )

    # -- checks ---------------------------------------------------------------------------------

    def _shape(self, name: SourceText, entry: SharedActionEntry) -> None:
        shape(self.context, name, NAME, "a shared action")
        for key in _PLACES_OF_USE:
            if entry.has(key):
                self.context.error(
                    "not-shared",
                    f"'{key}' belongs to the rule that uses a shared action",
                    entry.key_at(key),
                )

    def _parameters(self, shared: SharedActionEntry) -> frozenset[str]:
        given = shared.given.items if shared.given else ()
        return frozenset({*self._reads[shared.node.start], *given})

    def _readings(self, shared: SharedActionEntry) -> Iterator[tuple[str, Scalar]]:
        for scalar in reversed(list(scalars(shared.node))):  # of several the first counts
            if (template := self._language.quiet_template(scalar.value)) is not None:
                yield from ((field, scalar) for root, field in template.uses if root == ROOT)

    def _given(self, entry: ActionEntry, shared: SharedActionEntry, roots: frozenset[str]) -> Given:
        """The values of every parameter: the rule's own, else the shared action's defaults."""
        place = ExpressionSite("'with'", roots)
        own = {n.value: self._language.json(node, place) for n, node in entry.given or ()}
        defaults = {
            n.value: self._language.json(node, place)
            for n, node in shared.given or ()
            if n.value not in own
        }
        self._missing(entry, shared, {*own, *defaults})
        known = self._parameters(shared)
        for name in (name for name, _ in entry.given or () if name.value not in known):
            self.context.unknown("unknown-parameter", "parameter", name, sorted(known))
        return tuple({**own, **defaults}.items())

    def _missing(self, entry: ActionEntry, shared: SharedActionEntry, given: set[str]) -> None:
        if entry.use is None or "given" in entry.broken | shared.broken:
            return
        for name, scalar in self._reads[shared.node.start].items():
            if name not in given:
                where = self.context.report.source.where(scalar.start, entry.use.node.start)
                self.context.error(
                    "missing-parameter",
                    f"the shared action '{entry.use.shown}' needs '{name}'",
                    entry.use,
                    f"it is read in {where}: give it a value under 'with'",
                )
