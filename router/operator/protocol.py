"""What only a running server can answer; the web sees it by this protocol alone."""

from typing import Protocol

from router.operator import answers
from router.operator.requests import LOCAL, By

NODE_HEADER = "router-node"
"""A router asks another one with its number in this header: that one answers for itself alone."""


class Running(Protocol):
    """
    What only a running server can answer, and do. Of several on one database any may be asked what
    all of them refused, and what a job on any of them writes; with `node`, a number, what that one
    itself knows. Raises UsageError: it is another one.
    """

    async def unready(self) -> str | None: ...

    async def status(self) -> answers.ServerState: ...

    async def refusals(self, limit: int, node: str | None = None) -> answers.RefusalList: ...

    async def refusal(
        self, wanted: str, endpoint: str | None, node: str | None = None
    ) -> answers.RefusedRequest: ...

    async def output(self, job: str, after: str, node: str | None = None) -> answers.JobOutput: ...

    async def reload(self, by: By = LOCAL, /) -> answers.Reloaded: ...
