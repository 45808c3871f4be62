"""A store that is away: said once, and again only after it was back."""

from types import TracebackType

from router.errors import StoreUnavailable
from router.log import Log


class StoreOutage:
    """
    A context manager around what needs the store: `StoreUnavailable` ends the block and is a
    warning, `event`, unless the time before ended so too. `away` is whether the last time did.
    """

    def __init__(self, log: Log, event: str) -> None:
        self._log, self._event = log, event
        self.away = False

    def __enter__(self) -> None:
        """Nothing is asked yet."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        was_away, self.away = self.away, isinstance(error, StoreUnavailable)
        if self.away and not was_away:
            self._log.warning(self._event, error=str(error))
        return self.away
