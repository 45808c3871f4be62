"""What senders could not deliver: asked for again, and how far that is."""

from litestar import Controller
from litestar.params import FromPath, JSONBody

from router.model.recovery import Recovery, RecoveryPlan
from router.operator.protocol import Recovering
from router.operator.requests import RecoverRequest
from router.web.admin.request import AdminRequest, Given, question, verb


class RecoveryRoutes(Controller):
    """Recovery: by endpoint."""

    @verb("/api/recover", "Recover: ask a sender for what it could not deliver.", RecoverRequest)
    async def recover(
        self,
        request: AdminRequest,
        recoveries: Given[Recovering],
        data: JSONBody[RecoverRequest],
    ) -> Recovery | RecoveryPlan:
        """Or say what that would be. What takes longer goes on meanwhile."""
        if data.dry_run:
            return await recoveries.plan(data.endpoint, data.since)
        return await recoveries.recover(data.endpoint, data.since, request.by)

    @question("/api/recoveries/{endpoint:str}", "The last recovery of an endpoint.")
    async def progress(self, recoveries: Given[Recovering], endpoint: FromPath[str]) -> Recovery:
        """How far it is."""
        return await recoveries.progress(endpoint)
