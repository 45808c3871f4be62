"""What only a running server can answer; the web sees it by this protocol alone."""

from typing import Protocol

from router.model.recovery import Recovery, RecoveryPlan
from router.operator import answers
from router.operator.requests import LOCAL, By


class Recovering(Protocol):
    """
    Asks senders for what they could not deliver to an endpoint. `since` in Unix milliseconds, None:
    where the last run ended, or the usual time back. Raises UsageError: its sender cannot be asked.
    """

    async def plan(self, endpoint: str, since: int | None) -> RecoveryPlan: ...

    async def recover(self, endpoint: str, since: int | None, by: By = LOCAL, /) -> Recovery: ...

    async def progress(self, endpoint: str) -> Recovery: ...


class Running(Protocol):
    """
    What only a running server can answer, and do. Of several on one database each knows what it
    refused itself, and what the jobs that it runs write.
    """

    async def unready(self) -> str | None: ...

    async def status(self) -> answers.ServerState: ...

    async def refusals(self, limit: int) -> answers.RefusalList: ...

    async def refusal(self, wanted: str, endpoint: str | None) -> answers.RefusedRequest: ...

    async def output(self, job: str, after: str) -> answers.JobOutput: ...

    async def reload(self, by: By = LOCAL, /) -> answers.Reloaded: ...

    async def resume(self, by: By = LOCAL, /) -> answers.Resumed: ...
