"""The verbs of the API: POST only, for operators only, each with its line of audit."""

import msgspec
from litestar import Controller
from litestar.params import FromPath, JSONBody

from router.operator import answers
from router.operator.erasure_answers import ErasurePlan, ErasureProgress, Erasures
from router.operator.protocol import Running
from router.operator.requests import (
    BackupNote,
    ChangeRequest,
    EraseRequest,
    PruneRequest,
    RememberRequest,
    ReplayRequest,
    TargetRequest,
    TokenName,
    TokenRequest,
)
from router.operator.token_answers import NewToken, TokenRevoked
from router.operator.verbs import StoreVerbs
from router.web.admin.request import AdminRequest, Given, question, verb


class ChangeBody(ChangeRequest, frozen=True):
    """
    What to change: deliveries or jobs by id, or those of a selector. `dry_run`: only the plan.
    """

    dry_run: bool = False


class ReplayBody(ReplayRequest, frozen=True):
    """
    What to replay. `recorded`: the original jobs again, instead of matching with today's rules.
    `rate` is jobs a second for each target, null: all at once. `name` is the replay's id: the same
    again makes nothing twice. `again`: also what has been replayed already. `dry_run`: only the
    plan.
    """

    dry_run: bool = False


class EraseBody(EraseRequest, frozen=True):
    """
    What to erase: deliveries by id, or those of a selector, of a batch only the events that its
    condition fits. `cancel`: jobs that have not run are cancelled first. `vacuum`: the store's file
    is then written anew, and every write waits meanwhile. `dry_run`: only the plan.
    """

    dry_run: bool = False


class EmptyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No key at all."""


class ChangeRoutes(Controller):
    """What an operator changes."""

    @verb("/api/replay", "Replay: make new jobs from stored ones.", ReplayBody)
    async def replay(
        self, request: AdminRequest, verbs: Given[StoreVerbs], data: JSONBody[ReplayBody]
    ) -> answers.ReplayProgress | answers.OperatorPlan:
        """Or say what that would be."""
        if data.dry_run:
            return await verbs.plan_replay(data, request.by)
        return await verbs.replay(data, request.by)

    @verb("/api/cancel", "Cancel jobs that have not ended.", ChangeBody)
    async def cancel(
        self, request: AdminRequest, verbs: Given[StoreVerbs], data: JSONBody[ChangeBody]
    ) -> answers.Cancelled | answers.OperatorPlan:
        """Or say how many that would be."""
        if data.dry_run:
            return await verbs.plan_change("cancel", data, request.by)
        return await verbs.cancel(data, request.by)

    @verb("/api/revive", "Revive: try dead jobs again.", ChangeBody)
    async def revive(
        self, request: AdminRequest, verbs: Given[StoreVerbs], data: JSONBody[ChangeBody]
    ) -> answers.Revived | answers.OperatorPlan:
        """Or say how many that would be."""
        if data.dry_run:
            return await verbs.plan_change("revive", data, request.by)
        return await verbs.revive(data, request.by)

    @verb(
        "/api/erase",
        "Erase one person's data: deliveries, or events of them, and all that came of them.",
        EraseBody,
        access="admin",
    )
    async def erase(
        self, request: AdminRequest, verbs: Given[StoreVerbs], data: JSONBody[EraseBody]
    ) -> ErasureProgress | ErasurePlan:
        """Or say what that would be."""
        if data.dry_run:
            return await verbs.plan_erase(data, request.by)
        return await verbs.erase(data, request.by)

    @question("/api/erasures", "Erasures under way, and those of the last day.", access="admin")
    async def erasures(self, request: AdminRequest, verbs: Given[StoreVerbs]) -> Erasures:
        """The oldest first."""
        del request
        return await verbs.known_erasures()

    @question("/api/erasures/{erasure:str}", "How far an erasure is.", access="admin")
    async def erasure(
        self, request: AdminRequest, verbs: Given[StoreVerbs], erasure: FromPath[str]
    ) -> ErasureProgress:
        """By its whole id."""
        del request
        return await verbs.erasure(erasure)

    @verb("/api/remember", "Remember facts that the command line found.", RememberRequest)
    async def remember(
        self, request: AdminRequest, verbs: Given[StoreVerbs], data: JSONBody[RememberRequest]
    ) -> answers.Remembered:
        """Subscriptions."""
        return await verbs.remember(data, request.by)

    @verb("/api/backup", "Note a backup made beside the server.", BackupNote)
    async def backed_up(
        self, request: AdminRequest, verbs: Given[StoreVerbs], data: JSONBody[BackupNote]
    ) -> answers.Noted:
        """In the audit."""
        return await verbs.backed_up(data, request.by)

    @verb("/api/prune", "Apply retention now.", PruneRequest)
    async def prune(
        self, request: AdminRequest, verbs: Given[StoreVerbs], data: JSONBody[PruneRequest]
    ) -> answers.PruneProgress:
        """A bounded piece of it."""
        return await verbs.prune(data, request.by)

    @verb("/api/pause", "Pause a target: it is not called until resumed.", TargetRequest)
    async def pause(
        self, request: AdminRequest, verbs: Given[StoreVerbs], data: JSONBody[TargetRequest]
    ) -> answers.TargetChanged:
        """Until it is resumed, across restarts."""
        return await verbs.pause(data, request.by)

    @verb("/api/resume", "Resume a paused or failing target.", TargetRequest)
    async def resume(
        self, request: AdminRequest, verbs: Given[StoreVerbs], data: JSONBody[TargetRequest]
    ) -> answers.TargetChanged:
        """At once."""
        return await verbs.resume(data, request.by)

    @verb(
        "/api/tokens",
        "Make a token; its value is in this answer alone.",
        TokenRequest,
        access="admin",
    )
    async def new_token(
        self, request: AdminRequest, verbs: Given[StoreVerbs], data: JSONBody[TokenRequest]
    ) -> NewToken:
        """Only its hash is kept."""
        return await verbs.new_token(data, request.by)

    @verb("/api/tokens/revoke", "Revoke a token.", TokenName, access="admin")
    async def revoke_token(
        self, request: AdminRequest, verbs: Given[StoreVerbs], data: JSONBody[TokenName]
    ) -> TokenRevoked:
        """At once, with the sessions that it began."""
        return await verbs.revoke_token(data, request.by)

    @verb("/api/run", "Run jobs again, where `serve --hold` holds them.", EmptyBody)
    async def run(
        self, request: AdminRequest, running: Given[Running], data: JSONBody[EmptyBody]
    ) -> answers.Resumed:
        """The whole router; `resume` is for one target."""
        del data
        return await running.resume(request.by)

    @verb("/api/reload", "Read the rules file again.", EmptyBody)
    async def reload(
        self, request: AdminRequest, running: Given[Running], data: JSONBody[EmptyBody]
    ) -> answers.Reloaded:
        """The previous rules remain active if it is wrong."""
        del data
        return await running.reload(request.by)
