"""The routes that change something: POST only, for operators only, each with its line of audit."""

from typing import Any

import msgspec

from router.operator import By
from router.web.admin.asked import (
    BackedUp,
    Chosen,
    EmptyBody,
    Paused,
    Pruning,
    ReplayBody,
    SubscriptionFacts,
)
from router.web.admin.call import Call, Route, RouteAnswer
from router.web.admin.reads import as_json
from router.web.ports import OperatorPort


class Changes:
    """Handlers of the routes that change something."""

    def __init__(self, operator: OperatorPort) -> None:
        self._operator = operator

    def routes(self) -> list[Route]:
        """Their rows of the table."""

        def verb(name: str, about: str, handle: Any, body: type[msgspec.Struct]) -> Route:
            path = f"/api/{name}"
            return Route("POST", path, "operator", about, handle, body=body, answer=dict[str, Any])

        return [
            verb("replay", "Make new jobs from stored work.", self._replay, ReplayBody),
            verb("cancel", "Cancel jobs that have not ended.", self._cancel, Chosen),
            verb("revive", "Try dead jobs again.", self._revive, Chosen),
            verb(
                "remember",
                "Keep what the command line found out.",
                self._remember,
                SubscriptionFacts,
            ),
            verb("backup", "Note a backup made beside the server.", self._backed_up, BackedUp),
            verb("prune", "Remove what retention lets go, now.", self._prune, Pruning),
            verb("pause", "Call a target no more until it is resumed.", self._pause, Paused),
            verb("resume", "Call a paused or open target again.", self._resume, Paused),
            verb("reload", "Read the rules file again.", self._reload, EmptyBody),
        ]

    async def _replay(self, call: Call) -> RouteAnswer:
        return as_json(await self._operator.replay(_given(call), by(call)))

    async def _cancel(self, call: Call) -> RouteAnswer:
        return as_json(await self._operator.cancel(_given(call), by(call)))

    async def _revive(self, call: Call) -> RouteAnswer:
        return as_json(await self._operator.revive(_given(call), by(call)))

    async def _remember(self, call: Call) -> RouteAnswer:
        return as_json(await self._operator.remember(_given(call), by(call)))

    async def _backed_up(self, call: Call) -> RouteAnswer:
        return as_json(await self._operator.backed_up(_given(call), by(call)))

    async def _prune(self, call: Call) -> RouteAnswer:
        return as_json(await self._operator.prune(_given(call), by(call)))

    async def _pause(self, call: Call) -> RouteAnswer:
        return as_json(await self._operator.pause(_given(call), by(call)))

    async def _resume(self, call: Call) -> RouteAnswer:
        return as_json(await self._operator.resume(_given(call), by(call)))

    async def _reload(self, call: Call) -> RouteAnswer:
        return as_json(await self._operator.reload(by(call)))


def by(call: Call) -> By:
    """Who changes something, for the audit."""
    return By(call.caller.name, call.peer or None)


def _given(call: Call) -> dict[str, Any]:
    """The body as JSON values, without what was left out."""
    given: dict[str, Any] = msgspec.to_builtins(call.body)
    return given
