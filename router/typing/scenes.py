"""What expressions see for each kind of event of a sender: the types of the roots."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from typing import Any

import msgspec

from router.expressions import Expression
from router.model.patterns import wildcard
from router.typing.infer import value_type
from router.typing.lattice import (
    ABSENT,
    ANY,
    FAULT,
    LIST,
    NOTHING,
    NULL,
    NULL_TYPE,
    NUMBER,
    NUMBER_TYPE,
    OBJECT,
    TEXT,
    TEXT_TYPE,
    Type,
    closed_object,
    list_of,
    of_setting,
    step,
    with_kinds,
)
from router.typing.run import Clues
from router.typing.shapes import Shapes

Patterns = tuple[str, ...] | None
_SHOWN_MAX = 3
_OTHER = "any other event"

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

RESULT_TYPES: Mapping[str, Type] = {
    "number": Type(NUMBER | NOTHING),
    "text": Type(TEXT | NOTHING),
    "texts": Type(OBJECT | NOTHING, rest=Type(TEXT | ABSENT)),
    "any": ANY,
}
"""What a field of an action's result may be, in the words of its kind."""

Results = Mapping[str, Mapping[str, str]]
"""The fields of each action's result, by the action's id; None: anything."""


class RootField(msgspec.Struct, frozen=True):
    """
    A root that a sender adds: the event's own name, a path in the payload, or else a text, one of
    these or (None) any. `format` says what it shows, `made_of` is the path of the payload that it
    is cut from.
    """

    event: bool = False
    path: str | None = None
    texts: frozenset[str] | None = None
    format: str | None = None
    made_of: str | None = None


class TypedSender(msgspec.Struct, frozen=True, eq=False):
    """
    What types know of a sender. `names` are those by which endpoints call it, `aliases` its others;
    `events` maps the names of its catalogue to their actions. `action` is the field of the payload
    that names the action, "" where that stands elsewhere, None for a sender without actions.
    `batch` is the path of the list whose elements are its events, "" for the body, None for none.
    """

    names: frozenset[str]
    aliases: frozenset[str]
    events: Mapping[str, tuple[str, ...]]
    action: str | None
    fields: Mapping[str, RootField]
    shapes: Shapes
    batch: str | None = None


class Scene(msgspec.Struct, frozen=True, eq=False):
    """
    Events that look alike to an expression. `events` names them for people; `guessed` ones are
    in no catalogue, or have no shape where others have one.
    """

    events: str
    roots: Type
    clues: Clues
    guessed: bool = False
    defines: Mapping[str, Expression] = {}


class _Kind(msgspec.Struct, frozen=True):
    """Events of one sender with one shape, and the actions that they can have."""

    names: tuple[str, ...]
    actions: tuple[str, ...]
    fixed: frozenset[str] | None
    payload: Type | None


def results_of(results: Results) -> Type:
    """The root `results`, for actions that may have run before."""
    return closed_object(
        {
            name: closed_object({field: RESULT_TYPES[one] for field, one in types.items()})
            for name, types in results.items()
        },
        label="results",
    )


def of_results(roots: Type, others: Type) -> Type:
    """The roots, with the results that the others have."""
    fields = {**roots.fields, "results": others.fields["results"]}
    return msgspec.structs.replace(roots, fields=fields)


class Scenes:
    """Makes the scenes of one file, each once."""

    def __init__(
        self,
        endpoints: Iterable[str],
        defines: Mapping[str, Expression],
        variables: Mapping[str, Any],
    ) -> None:
        self._endpoint = Type(TEXT, known=frozenset(endpoints))
        self._defines = defines
        self._variables = closed_object(
            {name: of_setting(value) for name, value in variables.items()}, label="var"
        )
        self._made: dict[tuple[tuple[int, ...], Patterns], tuple[Scene, ...]] = {}
        self._after: dict[tuple[int, tuple[tuple[str, int], ...]], tuple[Scene, ...]] = {}

    def of(self, senders: Iterable[TypedSender], patterns: Patterns) -> tuple[Scene, ...]:
        """One scene for each kind of event that these patterns (None: all) let in."""
        listed = tuple(senders)
        key = (tuple(map(id, listed)), patterns)
        if (found := self._made.get(key)) is None:
            found = tuple(scene for one in listed for scene in self._of_one(one, patterns))
            self._made[key] = found
        return found

    def after(self, scenes: tuple[Scene, ...], results: Results) -> tuple[Scene, ...]:
        """The same, with the results of these actions; each kind of them has one mapping."""
        key = (id(scenes), tuple((name, id(types)) for name, types in results.items()))
        if (found := self._after.get(key)) is None:
            root = closed_object({"results": results_of(results)})
            found = self._after[key] = tuple(
                msgspec.structs.replace(scene, roots=of_results(scene.roots, root))
                for scene in scenes
            )
        return found

    def _of_one(self, sender: TypedSender, patterns: Patterns) -> Iterator[Scene]:
        known = frozenset(sender.events)
        kinds = _kinds(sender, patterns)
        shaped = any(kind.payload is not None for kind in kinds)
        for kind in kinds:
            event = Type(TEXT, texts=frozenset(kind.names), known=known)
            yield self._scene(sender, kind, event, guessed=shaped and kind.payload is None)
        for pattern in patterns or ():
            if any(
                _let_in(name, actions, (pattern,))[0] for name, actions in sender.events.items()
            ):
                continue
            texts = None if "*" in pattern else frozenset((pattern,))
            kind = _Kind((pattern,), (), None, sender.shapes.payload(pattern))
            yield self._scene(sender, kind, Type(TEXT, texts=texts, known=known))
        if patterns is None:
            other = _Kind((_OTHER,), (), None, sender.shapes.payload(_OTHER))
            yield self._scene(
                sender, other, Type(TEXT, known=known), guessed=bool(known) or other.payload is None
            )

    def _scene(
        self, sender: TypedSender, kind: _Kind, event: Type, *, guessed: bool = False
    ) -> Scene:
        action = _action(sender, kind)
        payload = _payload(sender, kind, action)
        fields: dict[str, Type] = {
            "event": event,
            "action": action,
            "payload": payload,
            "events": list_of(payload),
            "headers": _MAP,
            "query": _MAP,
            "path": _OPTIONAL_TEXT,
            "endpoint": self._endpoint,
            "provider": Type(TEXT, known=sender.names, aliases=sender.aliases),
            "var": self._variables,
            "delivery": _DELIVERY,
            "results": ANY,
            "with": ANY,
        }
        for name, field in sender.fields.items():
            fields[name] = _own_root(field, event, payload)
        roots = closed_object(fields, label="roots")
        fields["def"] = closed_object(_Definitions(self._defines, roots), label="def")
        shown = ", ".join(kind.names[:_SHOWN_MAX]) + (", …" if len(kind.names) > _SHOWN_MAX else "")
        made_of = {name: field.made_of for name, field in sender.fields.items() if field.made_of}
        clues = Clues(_elsewhere(sender, kind), sender.batch, made_of)
        return Scene(shown, roots, clues, guessed, self._defines)


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


def _kinds(sender: TypedSender, patterns: Patterns) -> list[_Kind]:
    """The catalogue's events that the patterns let in, those alike together."""
    groups: dict[tuple[int, tuple[str, ...], frozenset[str] | None], list[str]] = {}
    payloads: dict[int, Type | None] = {}
    for name, actions in sender.events.items():
        let_in, fixed = _let_in(name, actions, patterns)
        if let_in:
            payload = sender.shapes.payload(name)
            payloads[id(payload)] = payload
            groups.setdefault((id(payload), actions, fixed), []).append(name)
    return [
        _Kind(tuple(names), actions, fixed, payloads[shape])
        for (shape, actions, fixed), names in groups.items()
    ]


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


# -- the roots


def _action(sender: TypedSender, kind: _Kind) -> Type:
    if sender.action is None:
        return NULL_TYPE
    known = frozenset(kind.actions)
    if kind.fixed is not None:
        return Type(TEXT, texts=kind.fixed, known=known)
    return Type(TEXT | NULL, known=known)


def _payload(sender: TypedSender, kind: _Kind, action: Type) -> Type:
    """The shape, its action as far as the rule's `events` say."""
    payload = kind.payload
    if payload is None and sender.batch is not None:
        return _element(sender.batch.split(".") if sender.batch else [])
    field = payload.fields.get(sender.action) if payload and sender.action else None
    if payload is None or field is None or not (action.known or action.texts):
        return payload or ANY
    field = msgspec.structs.replace(field, texts=action.texts, known=action.known)
    return msgspec.structs.replace(payload, fields={**payload.fields, sender.action or "": field})


def _element(batch: Sequence[str]) -> Type:
    """An event of which nothing is known but that the list it comes from is not in it."""
    made = with_kinds(ANY, ANY.kinds & ~LIST)
    for name in reversed(batch):
        made = msgspec.structs.replace(ANY, fields={name: made}, rest=_ANYTHING)
    return made


_ANYTHING = msgspec.structs.replace(ANY, item=ANY)
"""Any value, of which it is known that nothing is known: its name is no misspelling."""


def _own_root(field: RootField, event: Type, payload: Type) -> Type:
    """A root that the sender adds; one that an event lacks is absent."""
    if field.event:
        return event
    if field.path is None:
        return Type(TEXT | ABSENT, texts=field.texts, format=field.format)
    return Type(TEXT | ABSENT, format=reduce(step, field.path.split("."), payload).format)


def _elsewhere(sender: TypedSender, kind: _Kind) -> Callable[[tuple[str, ...]], Iterable[str]]:
    """Which other events have a path that these do not."""

    @cache
    def elsewhere(path: tuple[str, ...]) -> Iterable[str]:
        others = (name for name in sender.events if name not in kind.names)
        return [name for name in others if _has(sender.shapes.payload(name), path)]

    return elsewhere


def _has(payload: Type | None, path: tuple[str, ...]) -> bool:
    kind = payload
    for name in path:
        kind = kind.fields.get(name) if kind is not None else None
    return kind is not None
