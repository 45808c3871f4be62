"""What expressions see for each kind of event that a rule names: the types of the roots."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from router.config.context import LoadContext
from router.expressions import Expression
from router.expressions.types import ANY, Clues, Type, value_type
from router.expressions.types.lattice import (
    ABSENT,
    FAULT,
    NOTHING,
    NULL,
    NULL_TYPE,
    NUMBER,
    NUMBER_TYPE,
    OBJECT,
    TEXT,
    TEXT_TYPE,
    closed_object,
    list_of,
    of_setting,
    step,
    with_kinds,
)
from router.model.settings import OWN
from router.providers import Provider
from router.providers.definition import ValueSource, spelled
from router.rules.patterns import wildcard

Patterns = tuple[str, ...] | None
_SHOWN_MAX = 3
_NOBODY = "any other event"

_OPTIONAL_TEXT = Type(TEXT | NULL)
_MAP = Type(OBJECT, rest=Type(TEXT | ABSENT))
_DELIVERY = closed_object(
    {
        "id": TEXT_TYPE,
        "event_id": _OPTIONAL_TEXT,
        "received_at": Type(TEXT, format="timestamp"),
        "index": NUMBER_TYPE,
        "count": NUMBER_TYPE,
        "verified_by": _OPTIONAL_TEXT,
        "replay_of": _OPTIONAL_TEXT,
    },
    label="delivery",
)


_ANSWER: Mapping[str, Mapping[str, Type]] = {
    "http": {
        "status": Type(NUMBER | NOTHING),
        "headers": Type(OBJECT | NOTHING, rest=Type(TEXT | ABSENT)),
        "json": ANY,
        "text": Type(TEXT | NOTHING),
    },
    "shell": {"exit": Type(NUMBER | NOTHING), "stdout": Type(TEXT | NOTHING), "json": ANY},
    "python": {"value": ANY},
}
"""What `results.ID` holds for each kind of action."""


class Scene(msgspec.Struct, frozen=True, eq=False):
    """
    Events that look alike to an expression. `events` names them for people; `guessed` ones are
    in no catalogue.
    """

    events: str
    roots: Type
    clues: Clues
    guessed: bool = False


class _Kind(msgspec.Struct, frozen=True):
    """Events of one provider with one shape, and the actions that they can have."""

    names: tuple[str, ...]
    actions: tuple[str, ...]
    fixed: frozenset[str] | None
    payload: Type | None


def results_of(kinds: Mapping[str, str]) -> Type:
    """The root `results`, for actions (id to kind) that may have run before."""
    fields = {
        name: closed_object(_ANSWER[kind]) if kind in _ANSWER else ANY
        for name, kind in kinds.items()
    }
    return closed_object(fields, label="results")


class Scenes:
    """Makes the scenes of one file, each once."""

    def __init__(
        self, context: LoadContext, defines: Mapping[str, Expression], variables: Mapping[str, Any]
    ) -> None:
        endpoints = context.file.endpoints
        self._endpoint = Type(TEXT, known=frozenset(endpoints.items if endpoints else ()) | {OWN})
        self._defines = defines
        fields = {name: of_setting(value) for name, value in variables.items()}
        self._variables = closed_object(fields, label="var")
        self._made: dict[tuple[tuple[int, ...], Patterns], tuple[Scene, ...]] = {}
        self._after: dict[tuple[int, tuple[tuple[str, str], ...]], tuple[Scene, ...]] = {}

    def of(self, providers: Iterable[Provider], patterns: Patterns) -> tuple[Scene, ...]:
        """One scene for each kind of event that these patterns (None: all) let in."""
        listed = tuple(providers)
        key = (tuple(map(id, listed)), patterns)
        found = self._made.get(key)
        if found is None:
            found = tuple(scene for one in listed for scene in self._of_one(one, patterns))
            self._made[key] = found
        return found

    def after(self, scenes: tuple[Scene, ...], kinds: Mapping[str, str]) -> tuple[Scene, ...]:
        """The same, with the results of these actions (id to kind)."""
        key = (id(scenes), tuple(kinds.items()))
        found = self._after.get(key)
        if found is None:
            results = results_of(kinds)
            found = self._after[key] = tuple(
                msgspec.structs.replace(
                    scene,
                    roots=msgspec.structs.replace(
                        scene.roots, fields={**scene.roots.fields, "results": results}
                    ),
                )
                for scene in scenes
            )
        return found

    def _of_one(self, provider: Provider, patterns: Patterns) -> Iterator[Scene]:
        known = frozenset(event.name for event in provider.events)
        for kind in _kinds(provider, patterns):
            event = Type(TEXT, texts=frozenset(kind.names), known=known)
            yield self._scene(provider, kind, event)
        for name in _strangers(provider, patterns):
            texts = None if "*" in name else frozenset((name,))
            kind = _Kind((name,), (), None, provider.shapes.payload(name))
            yield self._scene(provider, kind, Type(TEXT, texts=texts, known=known))
        if patterns is None:
            payload = provider.shapes.payload(_NOBODY)
            nobody = _Kind((_NOBODY,), (), None, payload)
            guessed = bool(known) or payload is None
            yield self._scene(provider, nobody, Type(TEXT, known=known), guessed=guessed)

    def _scene(
        self, provider: Provider, kind: _Kind, event: Type, *, guessed: bool = False
    ) -> Scene:
        action = _action(provider, kind)
        payload = _payload(provider, kind, action)
        plain = provider.name.partition("@")[0]  # of an endpoint that says itself how it verifies
        names = frozenset((provider.name, plain, *provider.aliases))
        fields: dict[str, Type] = {
            "event": event,
            "action": action,
            "payload": payload,
            "events": list_of(payload),
            "headers": _MAP,
            "query": _MAP,
            "endpoint": self._endpoint,
            "provider": Type(TEXT, known=names),
            "var": self._variables,
            "delivery": _DELIVERY,
            "results": ANY,
            "with": ANY,
        }
        for name, source in provider.definition.fields.items():
            fields[name] = _own_root(source, event, payload)
        roots = closed_object(fields, label="roots")
        fields["def"] = closed_object(_Definitions(self._defines, roots), label="def")
        return Scene(_told(kind.names), roots, _clues(provider, kind), guessed)


class _Definitions(Mapping[str, Type]):
    """The types of `def.NAME` for one scene, inferred when asked for."""

    def __init__(self, expressions: Mapping[str, Expression], roots: Type) -> None:
        self._expressions = expressions
        self._roots = roots
        self._known: dict[str, Type] = {}

    def __getitem__(self, name: str) -> Type:
        if name not in self._known:
            expression = self._expressions[name]
            self._known[name] = with_kinds(ANY, ANY.kinds | FAULT)  # if it needs itself
            self._known[name] = value_type(expression, self._roots)[0]
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._expressions)

    def __len__(self) -> int:
        return len(self._expressions)


# -- which events


def _kinds(provider: Provider, patterns: Patterns) -> list[_Kind]:
    """The catalogue's events that the patterns let in, those alike together."""
    groups: dict[tuple[int, tuple[str, ...], frozenset[str] | None], list[str]] = {}
    payloads: dict[int, Type | None] = {}
    for name, actions in _catalogue(provider).items():
        let_in, fixed = _let_in(name, actions, patterns)
        if let_in:
            payload = provider.shapes.payload(name)
            payloads[id(payload)] = payload
            groups.setdefault((id(payload), actions, fixed), []).append(name)
    return [
        _Kind(tuple(names), actions, fixed, payloads[shape])
        for (shape, actions, fixed), names in groups.items()
    ]


def _catalogue(provider: Provider) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for event in provider.events:
        found[event.name] = tuple(dict.fromkeys((*found.get(event.name, ()), *event.actions)))
    return found


def _let_in(
    name: str, actions: tuple[str, ...], patterns: Patterns
) -> tuple[bool, frozenset[str] | None]:
    """Whether an event is let in, and with which actions only (None: any)."""
    if patterns is None or any(wildcard(pattern, name) for pattern in patterns):
        return True, None
    fixed = {a for a in actions for p in patterns if wildcard(p, f"{name}.{a}")}
    fixed |= {p[len(name) + 1 :] for p in patterns if p.startswith(f"{name}.") and "*" not in p}
    open_ended = any(p.startswith(f"{name}.") and "*" in p for p in patterns)
    return bool(fixed) or open_ended, frozenset(fixed) if fixed and not open_ended else None


def _strangers(provider: Provider, patterns: Patterns) -> list[str]:
    """Patterns that fit no event of the catalogue."""
    catalogue = _catalogue(provider)
    return [
        pattern
        for pattern in patterns or ()
        if not any(_let_in(name, actions, (pattern,))[0] for name, actions in catalogue.items())
    ]


def _told(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_SHOWN_MAX])
    return f"{shown}, …" if len(names) > _SHOWN_MAX else shown


# -- the roots


def _action(provider: Provider, kind: _Kind) -> Type:
    if provider.definition.action is None:
        return NULL_TYPE
    known = frozenset(kind.actions)
    if kind.fixed is not None:
        return Type(TEXT, texts=kind.fixed, known=known)
    return Type(TEXT | NULL, known=known)


def _payload(provider: Provider, kind: _Kind, action: Type) -> Type:
    """The shape, its event and action as far as the rule's `events` say."""
    payload = kind.payload
    source = provider.definition.action
    if payload is None or source is None:
        return ANY if payload is None else payload
    for path in source.paths[:1]:
        field = payload.fields.get(path)
        if field is not None and (action.known or action.texts):
            told = msgspec.structs.replace(field, texts=action.texts, known=action.known)
            return msgspec.structs.replace(payload, fields={**payload.fields, path: told})
    return payload


def _own_root(source: ValueSource, event: Type, payload: Type) -> Type:
    """A root that the provider adds; one that an event lacks is absent."""
    if source.event:
        return event
    if source.key:
        return Type(TEXT | ABSENT, texts=frozenset(spelled(source.key)))
    if source.header or source.prefix:
        return Type(TEXT | ABSENT)
    kind = payload
    for name in (source.paths or ("",))[0].split("."):
        kind = step(kind, name)
    return Type(TEXT | ABSENT, format=kind.format)


# -- clues


def _clues(provider: Provider, kind: _Kind) -> Clues:
    @cache
    def elsewhere(path: tuple[str, ...]) -> Iterable[str]:
        return [
            name
            for name in _catalogue(provider)
            if name not in kind.names and _has(provider.shapes.payload(name), path)
        ]

    return Clues(elsewhere)


def _has(payload: Type | None, path: tuple[str, ...]) -> bool:
    kind = payload
    for name in path:
        kind = kind.fields.get(name) if kind is not None else None
    return kind is not None
