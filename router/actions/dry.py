"""The action of `--dry`, for every kind: describes the call, touches nothing."""

from router.kinds.kind import ActionCall
from router.model.job import Done, Job, Outcome


class DryAction:
    """Succeeds with the rendered call, secrets masked, as its result."""

    def run_now(self, call: ActionCall, job: Job) -> Outcome:
        """Describe it."""
        del job
        return Done(call.described())

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        """Describe it."""
        return self.run_now(call, job)

    async def close(self) -> None:
        """Nothing to close."""
