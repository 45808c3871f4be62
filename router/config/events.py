"""Event names of rules against the catalogues of the providers that send them."""

from collections.abc import Iterable

from router.config.context import LoadContext
from router.config.senders import SenderSet
from router.model.patterns import wildcard
from router.model.settings import OWN
from router.yaml_source import SourceText


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
                self._matched[key] = text.value in behind.events or (
                    "*" in text.value and any(wildcard(text.value, n) for n in behind.events)
                )
            if not self._matched[key]:
                self._unknown(text, behind)

    def _unknown(self, text: SourceText, behind: SenderSet) -> None:
        alone = list(behind.providers) == [OWN]
        if "*" in text.value and not alone:
            message = f"'{text.value[:60]}' matches no known event of {behind}"
            self.context.warning("glob-without-event", message, text)
            return
        hint = self.context.suggest.hint(text.value, behind.events)
        if alone:  # its catalogue is ours: nothing else will ever come
            message = f"'{text.value[:60]}' is no event of the router itself"
            hint = hint or f"its events are {', '.join(behind.events)}"
            self.context.error("unknown-own-event", message, text, hint)
            return
        message = f"'{text.value[:60]}' is no known event of {behind}"
        if hint:
            self.context.error("misspelt-event", message, text, hint)
        else:
            self.context.warning("unknown-event", message, text)
