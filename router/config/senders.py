"""The senders behind a rule's endpoints, called as the endpoints call them, and their events."""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from router.config.context import LoadContext
from router.config.endpoint_shapes import ShapeFiles
from router.config.providers import provider_of
from router.model.patterns import wildcard
from router.model.settings import OWN
from router.providers import Provider, own
from router.providers.definition import spelled
from router.providers.read import UNKNOWN
from router.suggest import begun_alike, by_beginning
from router.typing.scenes import RootField, TypedSender
from router.typing.shapes import Shapes
from router.yaml_source import SourceText

_SHOWN_MAX = 12
_PART = re.compile(r"[./:]")
_LAST_PART = re.compile(r"[./:][^./:]*\Z")


class SenderSet(msgspec.Struct, frozen=True, eq=False):
    """
    The providers of some endpoints by canonical name, the names that those endpoints give them,
    what types know of them, and all their events.
    """

    providers: dict[str, Provider]
    names: dict[str, frozenset[str]]
    senders: tuple[TypedSender, ...]
    events: dict[str, None]

    def __str__(self) -> str:
        return " or ".join(sorted(name for names in self.names.values() for name in names))


class EndpointSenders:
    """Finds the senders of endpoints, each set of them once."""

    def __init__(self, context: LoadContext) -> None:
        self.context = context
        self._files = ShapeFiles(context)
        self._behind: dict[tuple[str, ...] | None, SenderSet] = {}
        self._senders: dict[tuple[str, frozenset[str], Shapes], TypedSender] = {}

    def behind(self, endpoints: tuple[str, ...] | None) -> SenderSet:
        """The senders of these endpoints; None means of every one that senders reach."""
        if (found := self._behind.get(endpoints)) is None:
            found = self._behind[endpoints] = self._find(endpoints)
        return found

    def _find(self, endpoints: tuple[str, ...] | None) -> SenderSet:
        table = self.context.file.endpoints
        items = table.items if table is not None else {}
        providers: dict[str, Provider] = {}
        names: dict[str, frozenset[str]] = {}
        called: dict[str, list[str]] = {}
        for name in items if endpoints is None else endpoints:
            entry = items[name][1] if name in items else None
            provider = provider_of(self.context, entry) if entry is not None else None
            written = entry.provider.value if entry is not None and entry.provider else name
            if name == OWN:
                provider, written = own(), OWN
            if provider is not None:
                providers[provider.name] = provider
                names[provider.name] = names.get(provider.name, frozenset()) | {written}
                called.setdefault(provider.name, []).append(name)
        senders = tuple(
            self._sender(provider, names[name], tuple(called[name]))
            for name, provider in providers.items()
        )
        listed = [event for one in providers.values() for event in event_names(one)]
        return SenderSet(providers, names, senders, dict.fromkeys(listed))

    def _sender(
        self, provider: Provider, names: frozenset[str], endpoints: tuple[str, ...]
    ) -> TypedSender:
        shapes = self._files.over(provider.shapes, endpoints)
        key = (provider.name, names, shapes)
        if key not in self._senders:
            self._senders[key] = sender_of(provider, names, shapes)
        return self._senders[key]


_WITHOUT = {"refs/heads/": "git_branch", "refs/tags/": "git_tag"}
"""What is left of a text by the prefix that it is read without."""


def event_names(provider: Provider) -> Iterator[str]:
    """Names and `name.action`s of a provider's catalogue."""
    for event in provider.events:
        yield event.name
        yield from (f"{event.name}.{action}" for action in event.actions)
    if not provider.events and not provider.names_freely:
        yield UNKNOWN


def sender_of(provider: Provider, names: frozenset[str], shapes: Shapes) -> TypedSender:
    """What types know of a provider that endpoints call so, of whose payloads this is known."""
    events: dict[str, tuple[str, ...]] = {}
    for event in provider.events:
        events[event.name] = tuple(dict.fromkeys((*events.get(event.name, ()), *event.actions)))
    definition = provider.definition
    action, fields = definition.action, {}
    for root, source in definition.fields.items():
        plain = not (source.event or source.key or source.header or source.prefix or source.named)
        fields[root] = RootField(
            source.event,
            (source.paths or ("",))[0] if plain else None,
            frozenset(spelled(source.key)) if source.key else None,
            _WITHOUT.get(source.prefix or ""),
            (source.paths or (None,))[0],
        )
    return TypedSender(
        names=names,
        aliases=frozenset((provider.name, *provider.aliases)) - names,
        events=events,
        action=None if action is None else next(iter(action.paths), ""),
        fields=fields,
        shapes=shapes,
        batch=None if definition.split is None else definition.split_at or "",
    )


def _may_have(provider: Provider, name: str) -> bool:
    """Whether it is an event with an action, of a sender whose catalogue lists no actions."""
    event, _, action = name.partition(".")
    if not action or provider.definition.action is None:
        return False
    listed = {one.name: one.actions for one in provider.events}
    return event in listed and not any(listed.values())


def _siblings(name: str, behind: SenderSet) -> str | None:
    """
    Events that go on where an unknown one ends, one that begins like it, its neighbours, or those
    that have it as a part.
    """
    known = behind.events
    if set(known) <= {UNKNOWN}:
        return f"all events of {behind} are called '{UNKNOWN}': leave 'events' out"
    alone = _PART.split(name, maxsplit=1)[-1]
    if further := [one for one in known if _LAST_PART.sub("", one) == name != one]:
        return f"known ones are {_nearest(name, further)}"
    within = f"did you mean '{alone}'?" if alone != name and alone in known else None
    if (hint := within or begun_alike(name, known)) is not None:
        return hint
    event = _LAST_PART.sub("", name)
    beside = [one for one in known if one != event and _LAST_PART.sub("", one) == event]
    if event == name or event not in known:
        beside = beside or [one for one in known if name in _PART.split(one)]
        return f"known ones are {_nearest(name, beside)}" if beside else None
    if not beside:
        return f"'{event}' has no actions"
    start = len(event) + 1
    actions = _nearest(name[start:], [one[start:] for one in beside])
    return f"the actions of '{event}' are {actions}"


def _nearest(name: str, known: Sequence[str]) -> str:
    nearest = by_beginning(name, known)
    return ", ".join(nearest[:_SHOWN_MAX]) + (", …" if len(nearest) > _SHOWN_MAX else "")


class EventNames:
    """Checks event names; each name is looked up once for each set of senders."""

    def __init__(self, context: LoadContext) -> None:
        self.context = context
        self._matched: dict[tuple[int, str], bool] = {}

    def check(self, texts: Iterable[SourceText], behind: SenderSet) -> None:
        """
        Report names that no catalogue of these senders has.

        An error if a known name is near, for then it is a misspelling; else a warning: senders
        grow new events.
        """
        providers = behind.providers.values()
        if not providers or any(provider.names_freely for provider in providers):
            return
        for text in texts:
            key = (id(behind), text.value)
            if key not in self._matched:
                self._matched[key] = (
                    text.value in behind.events
                    or ("*" in text.value and any(wildcard(text.value, n) for n in behind.events))
                    or any(_may_have(provider, text.value) for provider in providers)
                    or any(provider.may_be_named(text.value) for provider in providers)
                )
            if not self._matched[key]:
                self._unknown(text, behind)

    def _unknown(self, text: SourceText, behind: SenderSet) -> None:
        alone = list(behind.providers) == [OWN]
        if "*" in text.value and not alone:
            message = f"'{text.shown}' matches no known event of {behind}"
            self.context.warning("glob-without-event", message, text)
            return
        hint = self.context.suggest.hint(text.value, behind.events)
        if alone:  # its catalogue is ours: nothing else will ever come
            message = f"'{text.shown}' is no event of the router itself"
            hint = hint or f"its events are {', '.join(behind.events)}"
            self.context.error("unknown-own-event", message, text, hint)
            return
        message = f"'{text.shown}' is no known event of {behind}"
        if hint:
            self.context.error("misspelt-event", message, text, hint)
        else:
            self.context.warning("unknown-event", message, text, _siblings(text.value, behind))
