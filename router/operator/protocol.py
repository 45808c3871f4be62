"""
The one interface of an operator: questions and verbs.

They are answered on the store (in the server, or under the store's lock without one) and by a
server elsewhere over its API; the command line, the API and the pages go through it alike.
Every question and verb may raise StoreUnavailable, NotFound and UsageError.
"""

from typing import Protocol

from router.model.operations import Change
from router.operator import answers
from router.operator.requests import (
    LOCAL,
    BackupNote,
    By,
    ChangeRequest,
    PruneRequest,
    RememberRequest,
    ReplayRequest,
    TargetRequest,
)
from router.store.values import DeliveryRecord, Generation, Selector


class Questions(Protocol):
    """What an operator asks; see StoreQuestions. `cursor` is the `next` of the answer before."""

    async def deliveries(
        self, selector: Selector, cursor: str | None = None
    ) -> answers.Deliveries: ...

    async def jobs(self, selector: Selector, cursor: str | None = None) -> answers.Jobs: ...

    async def dead(self, selector: Selector) -> answers.Dead: ...

    async def audit(
        self, since: int | None, until: int | None, limit: int, cursor: str | None = None
    ) -> answers.AuditLines: ...

    async def show(self, identity: str) -> DeliveryRecord: ...

    async def generation(self, prefix: str) -> Generation: ...

    async def rules(self) -> answers.RuleList: ...

    async def targets(self) -> answers.TargetList: ...


class Verbs(Protocol):
    """What an operator does; see StoreVerbs."""

    async def plan_replay(self, request: ReplayRequest) -> answers.OperatorPlan: ...

    async def replay(self, request: ReplayRequest, by: By = LOCAL, /) -> answers.ReplayProgress: ...

    async def replayed(self, id_: str) -> answers.ReplayProgress: ...

    async def plan_change(self, verb: Change, request: ChangeRequest) -> answers.OperatorPlan: ...

    async def cancel(self, request: ChangeRequest, by: By = LOCAL, /) -> answers.Cancelled: ...

    async def revive(self, request: ChangeRequest, by: By = LOCAL, /) -> answers.Revived: ...

    async def pause(self, request: TargetRequest, by: By = LOCAL, /) -> answers.TargetChanged: ...

    async def resume(self, request: TargetRequest, by: By = LOCAL, /) -> answers.TargetChanged: ...

    async def prune(self, request: PruneRequest, by: By = LOCAL, /) -> answers.PruneProgress: ...

    async def remember(self, request: RememberRequest, by: By = LOCAL, /) -> answers.Remembered: ...

    async def backed_up(self, note: BackupNote, by: By = LOCAL, /) -> answers.Noted: ...


class Operator(Questions, Verbs, Protocol):
    """Both."""


class Running(Protocol):
    """What only a running server can answer, and do."""

    async def ready(self) -> bool: ...

    async def status(self) -> answers.ServerState: ...

    def refusals(self, limit: int) -> answers.RefusalList: ...

    def refusal(self, wanted: str, endpoint: str | None) -> answers.RefusedRequest: ...

    def output(self, job: str, after: str) -> answers.JobOutput: ...

    async def reload(self, by: By = LOCAL, /) -> answers.Reloaded: ...
