"""Event names of rules against the catalogues of the providers that send them."""

from collections.abc import Iterable

from router.config.context import LoadContext
from router.model.settings import OWN
from router.providers import Provider
from router.yaml_source import SourceText

Known = tuple[frozenset[str], tuple[str, ...]]
"""Every name a pattern may match exactly, and the same as a list in the order of the catalogue."""


class EventNames:
    """Checks event names; each name is looked up once for each set of providers."""

    def __init__(self, context: LoadContext) -> None:
        self.context = context
        self._known: dict[frozenset[str], Known] = {}
        self._matched: dict[tuple[frozenset[str], str], bool] = {}

    def check(self, texts: Iterable[SourceText], providers: dict[str, Provider]) -> None:
        """
        Report names that no catalogue of these providers has.

        An error if a known name is near, for then it is a misspelling; else a warning: senders
        grow new events.
        """
        if not providers or any(provider.names_freely for provider in providers.values()):
            return
        key = frozenset(providers)
        for text in texts:
            if not self._matches(key, text.value, providers):
                self._unknown(text, self._names(key, providers), sorted(providers))

    def _matches(self, key: frozenset[str], name: str, providers: dict[str, Provider]) -> bool:
        found = self._matched.get((key, name))
        if found is None:
            exact, listed = self._names(key, providers)
            found = name in exact or ("*" in name and _any_matches(name, listed))
            self._matched[key, name] = found
        return found

    def _names(self, key: frozenset[str], providers: dict[str, Provider]) -> Known:
        known = self._known.get(key)
        if known is None:
            listed = tuple(dict.fromkeys(n for p in providers.values() for n in names(p)))
            known = self._known[key] = (frozenset(listed), listed)
        return known

    def _unknown(self, text: SourceText, known: Known, providers: list[str]) -> None:
        whose = " or ".join(providers)
        if "*" in text.value and providers != [OWN]:
            message = f"'{text.value[:60]}' matches no known event of {whose}"
            self.context.warning("glob-without-event", message, text)
            return
        hint = self.context.suggest.hint(text.value, known[1])
        if providers == [OWN]:  # its catalogue is ours: nothing else will ever come
            message = f"'{text.value[:60]}' is no event of the router itself"
            hint = hint or f"its events are {', '.join(known[1])}"
            self.context.error("unknown-own-event", message, text, hint)
            return
        message = f"'{text.value[:60]}' is no known event of {whose}"
        if hint:
            self.context.error("misspelt-event", message, text, hint)
        else:
            self.context.warning("unknown-event", message, text)


def names(provider: Provider) -> Iterable[str]:
    """Names and `name.action`s of a provider's catalogue."""
    for event in provider.events:
        yield event.name
        for action in event.actions:
            yield f"{event.name}.{action}"


def _any_matches(pattern: str, known: Iterable[str]) -> bool:
    pieces = pattern.split("*")
    return any(_fits(pieces, name) for name in known)


def _fits(pieces: list[str], name: str) -> bool:
    """Whether a name is these pieces with anything between them; leftmost finds, no going back."""
    first, *middle, last = pieces
    if len(name) < len(first) + len(last) or not (name.startswith(first) and name.endswith(last)):
        return False
    at, end = len(first), len(name) - len(last)
    for piece in middle:
        at = name.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True
