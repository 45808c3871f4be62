"""New jobs for stored work: routed again by today's rules, or as they were."""

import msgspec

from router.clock import Clock
from router.errors import NotFound
from router.model.delivery import Delivery
from router.model.ids import Ids
from router.model.job import Job, NewJob
from router.model.settings import Dedupe, Endpoint
from router.providers.provider import Provider
from router.rules.live import LiveRef
from router.rules.plan import Planner
from router.rules.ruleset import Ruleset

_UNGUARDED = Endpoint("", "", (), dedupe=Dedupe(mode="off"))


class NewJobs:
    """Makes the new jobs; stores nothing. All are due now: whoever stores them sets their pace."""

    def __init__(self, live: LiveRef, clock: Clock, ids: Ids) -> None:
        self._live = live
        self._clock = clock
        self._ids = ids

    @property
    def generation(self) -> str:
        """Of the rules by which it would route now."""
        return self._live.current.ruleset.generation

    def delivery(self, delivery: Delivery) -> list[NewJob]:
        """
        The jobs that today's rules want of a delivery.

        Raises:
            NotFound: the rules file no longer has its provider, or the disk has changed it.
        """
        if delivery.damaged:
            raise NotFound(f"{delivery.id} is corrupt: it is not what was accepted")
        live = self._live.current
        reading = provider_of(delivery, live.ruleset).read_stored(delivery)
        planner = Planner(live, self._ids, lambda _target, _kind: None)
        again = msgspec.structs.replace(delivery, replay_of=delivery.id)
        plan = planner.plan(again, reading, _UNGUARDED, self._clock.now(), self._clock.ledger())
        return [
            msgspec.structs.replace(job, replay_of=delivery.id, generation=self.generation)
            for job in plan.jobs
        ]

    def job(self, job: Job) -> NewJob:
        """
        The same event x rule x action once more, with today's version of the action; it names the
        generation that has the action, for nodes that do not.
        """
        generation, target = job.generation, job.target
        if (found := self._live.action_of(job)) is not None:
            generation, target = found[0].ruleset.generation, found[1].target
        return msgspec.structs.replace(
            msgspec.convert(job, NewJob, from_attributes=True),
            id=self._ids.new("job", self._clock.now()),
            target=target,
            due_at=self._clock.ledger(),
            state="available",
            lease=None,
            replay_of=job.id,
            generation=generation,
        )


def provider_of(delivery: Delivery, ruleset: Ruleset) -> Provider:
    """The provider that reads it by today's rules. Raises NotFound: they no longer have it."""
    if (found := ruleset.providers.get(delivery.provider)) is None:
        raise NotFound(f"the rules file no longer has the provider {delivery.provider!r}")
    return found
