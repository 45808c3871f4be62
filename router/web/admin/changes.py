"""The verbs of the API: POST only, for operators only, each with its line of audit."""

from typing import Any

import msgspec
from litestar import Controller
from litestar.params import JSONBody

from router.web.admin.asked import (
    BackedUp,
    Chosen,
    EmptyBody,
    Paused,
    Pruning,
    ReplayBody,
    SubscriptionFacts,
)
from router.web.admin.request import AdminRequest, Given, verb
from router.web.ports import OperatorPort


class ChangeRoutes(Controller):
    """What an operator changes."""

    @verb("/api/replay", "Make new jobs from stored work.", ReplayBody)
    async def replay(
        self, request: AdminRequest, operator: Given[OperatorPort], data: JSONBody[ReplayBody]
    ) -> dict[str, Any]:
        """Or say what that would be."""
        return await operator.replay(_given(data), request.by)

    @verb("/api/cancel", "Cancel jobs that have not ended.", Chosen)
    async def cancel(
        self, request: AdminRequest, operator: Given[OperatorPort], data: JSONBody[Chosen]
    ) -> dict[str, Any]:
        """Or say how many that would be."""
        return await operator.cancel(_given(data), request.by)

    @verb("/api/revive", "Try dead jobs again.", Chosen)
    async def revive(
        self, request: AdminRequest, operator: Given[OperatorPort], data: JSONBody[Chosen]
    ) -> dict[str, Any]:
        """Or say how many that would be."""
        return await operator.revive(_given(data), request.by)

    @verb("/api/remember", "Keep what the command line found out.", SubscriptionFacts)
    async def remember(
        self,
        request: AdminRequest,
        operator: Given[OperatorPort],
        data: JSONBody[SubscriptionFacts],
    ) -> dict[str, Any]:
        """Subscriptions."""
        return await operator.remember(_given(data), request.by)

    @verb("/api/backup", "Note a backup made beside the server.", BackedUp)
    async def backed_up(
        self, request: AdminRequest, operator: Given[OperatorPort], data: JSONBody[BackedUp]
    ) -> dict[str, Any]:
        """In the audit."""
        return await operator.backed_up(_given(data), request.by)

    @verb("/api/prune", "Remove what retention lets go, now.", Pruning)
    async def prune(
        self, request: AdminRequest, operator: Given[OperatorPort], data: JSONBody[Pruning]
    ) -> dict[str, Any]:
        """A bounded piece of it."""
        return await operator.prune(_given(data), request.by)

    @verb("/api/pause", "Call a target no more until it is resumed.", Paused)
    async def pause(
        self, request: AdminRequest, operator: Given[OperatorPort], data: JSONBody[Paused]
    ) -> dict[str, Any]:
        """Until it is resumed, across restarts."""
        return await operator.pause(_given(data), request.by)

    @verb("/api/resume", "Call a paused or open target again.", Paused)
    async def resume(
        self, request: AdminRequest, operator: Given[OperatorPort], data: JSONBody[Paused]
    ) -> dict[str, Any]:
        """At once."""
        return await operator.resume(_given(data), request.by)

    @verb("/api/reload", "Read the rules file again.", EmptyBody)
    async def reload(
        self, request: AdminRequest, operator: Given[OperatorPort], data: JSONBody[EmptyBody]
    ) -> dict[str, Any]:
        """The one before stays in force if it is wrong."""
        del data
        return await operator.reload(request.by)


def _given(body: msgspec.Struct) -> dict[str, Any]:
    """The body as JSON values, without what was left out."""
    given: dict[str, Any] = msgspec.to_builtins(body)
    return given
