"""The events of conditions: sent once, and remembered in the store."""

from collections.abc import Awaitable, Callable, Container, Mapping
from typing import Any

from router.store.protocol import FactStore

FACTS = "own/"

Send = Callable[[str, str, Mapping[str, Any]], Awaitable[bool]]
"""Stores an event by name, identity and payload; False: no rule wants it."""


class Alerts:
    """
    Events that were sent are remembered in the store under names that begin with `facts`, so that
    a restart sends none twice.
    """

    def __init__(self, store: FactStore, send: Send, facts: str = FACTS) -> None:
        self._store, self._send, self._facts = store, send, facts
        self._known: dict[str, Any] | None = None

    async def of(self, name: str) -> Any:
        """What is kept under this name, None if nothing. Raises StoreUnavailable."""
        return (await self._all()).get(self._facts + name)

    async def read_again(self) -> None:
        """Other nodes may have written since."""
        self._known = None

    async def send(
        self, fact: str, value: Any, event: str, identity: str, payload: Mapping[str, Any]
    ) -> None:
        """Send an event and keep `value` for it; nothing is kept if no rule wants it."""
        if await self._send(event, identity, payload):
            await self.keep(fact, value)

    async def forget_others(self, prefix: str, still: Container[str]) -> None:
        """Forget what is kept under this prefix for names that are not among these."""
        for fact in [n.removeprefix(self._facts) for n in await self._all()]:
            if fact.startswith(prefix) and fact.removeprefix(prefix) not in still:
                await self.keep(fact, None)

    async def keep(self, name: str, value: Any) -> None:
        """Keep it, or forget it (None), if that is a change."""
        known = await self._all()
        name = self._facts + name
        if known.get(name) == value:
            return
        await self._store.remember({name: value})
        if value is None:
            del known[name]
        else:
            known[name] = value

    async def _all(self) -> dict[str, Any]:
        if self._known is None:
            self._known = dict(await self._store.recall(self._facts))
        return self._known
