"""The `log` action: one line."""

from router.actions.resources import WriteLine
from router.kinds.kind import ActionCall
from router.kinds.log import LogCall
from router.legible import cut
from router.model.job import Done, FailOutcome, Job, Outcome

LINE_MAX = 8 * 1024


class LogAction:
    """Writes the message, cut to 8 KiB of characters, at once."""

    def __init__(self, write: WriteLine) -> None:
        self._write = write

    def run_now(self, call: ActionCall, job: Job) -> Outcome:
        """Log it."""
        if not isinstance(call, LogCall):
            return FailOutcome("not a log call")
        message = cut(call.message, LINE_MAX)
        self._write(call.level, message, job)
        return Done({"message": message})

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        """Log it."""
        return self.run_now(call, job)

    async def close(self) -> None:
        """Nothing to close."""
