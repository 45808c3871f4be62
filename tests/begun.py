"""A call as dispatch runs it: without a task where its action can begin it so."""

from router.actions.begun import waited_for
from router.dispatch.protocol import Action, Begin, Cancel, Ended
from router.kinds.kind import ActionCall
from router.model.job import Job, Outcome


class _NotBegunError(Exception):
    """This call is one for `run`."""


async def as_dispatched(action: Action, call: ActionCall, job: Job) -> Outcome:
    """The outcome; cancelling ends the work first."""
    begin: Begin = getattr(action, "begin")  # noqa: B009 - not every action has it

    def begun(ended: Ended) -> Cancel:
        if (cancel := begin(call, job, ended)) is None:
            raise _NotBegunError
        return cancel

    try:
        return await waited_for(begun)
    except _NotBegunError:
        return await action.run(call, job)
