"""What only a running server can answer; the web sees it by this protocol alone."""

from typing import Protocol

from router.operator import answers
from router.operator.requests import LOCAL, By


class Running(Protocol):
    """What only a running server can answer, and do."""

    async def unready(self) -> str | None: ...

    async def status(self) -> answers.ServerState: ...

    def refusals(self, limit: int) -> answers.RefusalList: ...

    def refusal(self, wanted: str, endpoint: str | None) -> answers.RefusedRequest: ...

    def output(self, job: str, after: str) -> answers.JobOutput: ...

    async def reload(self, by: By = LOCAL, /) -> answers.Reloaded: ...
