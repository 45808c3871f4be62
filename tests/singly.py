"""The verbs for groups of a store that knows only those for one."""

from collections.abc import Awaitable, Sequence
from typing import Any

from router.errors import RouterError


class Singly:
    """Takes a group one by one, in order; each outcome is its own."""

    async def accept_all(self: Any, group: Sequence[Any]) -> list[Any]:
        return [await _outcome(self.accept(one)) for one in group]

    async def settle_all(self: Any, group: Sequence[Any]) -> list[Any]:
        return [await _outcome(self.settle(*one)) for one in group]


async def _outcome(call: Awaitable[Any]) -> Any:
    try:
        return await call
    except RouterError as error:
        return error
