"""What ledger, target and senders of a fleet say together, held against the promises. No I/O."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.fleet.target import Call

MAX_DEATHS = 3


class StoredDelivery(NamedTuple):
    """`rules` are those that its jobs must be of, each once."""

    id: str
    digest: str
    rules: Collection[str]


class StoredJob(NamedTuple):
    """`turn` is its run's number in the group `lane`; None: its rule has no groups."""

    id: str
    delivery: str
    rule: str
    state: str | None
    reason: str | None
    lane: str | None = None
    turn: int | None = None


class StoredAttempt(NamedTuple):
    job: str
    number: int
    outcome: str


@dataclass
class Ledger:
    """All that it holds when everything has ended."""

    deliveries: Sequence[StoredDelivery]
    jobs: Sequence[StoredJob]
    attempts: Sequence[StoredAttempt]
    outcomes: Mapping[tuple[str, int], str] = field(init=False)
    of_job: Mapping[str, Counter[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.outcomes = {(one.job, one.number): one.outcome for one in self.attempts}
        of_job: dict[str, Counter[str]] = defaultdict(Counter)
        for one in self.attempts:
            of_job[one.job][one.outcome] += 1
        self.of_job = of_job

    def was_taken_over(self, call: Call) -> bool:
        """
        The attempt of this call did not end by the router that made it: that one was gone, or the
        others had to think so. Its call may overlap what came after; docs say so.
        """
        return self.outcomes.get((call.job, call.attempt)) == "interrupted"

    def died_often(self, job: StoredJob) -> bool:
        """Whether so many routers have died with it that it is dead, as they promise."""
        deaths = self.of_job[job.id]["interrupted"]
        return (job.state, job.reason) == ("dead", "crash_loop") and deaths >= MAX_DEATHS


def lost(ledger: Ledger, acked: Mapping[str, str]) -> list[str]:
    """Acknowledged and not there, not as it was sent, or there twice."""
    have = {one.id: one.digest for one in ledger.deliveries}
    found = [f"lost: {id_}" for id_ in acked if id_ not in have]
    found += [
        f"other body: {id_}" for id_, digest in acked.items() if have.get(id_, digest) != digest
    ]
    counts = Counter(have.values())
    return found + [f"stored {n} times: {digest}" for digest, n in counts.items() if n > 1]


def odd_jobs(ledger: Ledger) -> list[str]:
    """Deliveries without exactly their jobs; jobs that ended otherwise than their rule says."""
    rules: dict[str, list[str]] = defaultdict(list)
    for job in ledger.jobs:
        rules[job.delivery].append(job.rule)
    found = []
    for one in ledger.deliveries:
        if (have := sorted(rules.pop(one.id, []))) != sorted(one.rules):
            found.append(f"jobs of {one.id}: {have}, not {sorted(one.rules)}")
    found += [f"jobs of no delivery: {id_}" for id_ in rules]
    for job in ledger.jobs:
        succeeded = ledger.of_job[job.id]["succeeded"]
        if succeeded > 1:
            found.append(f"completed {succeeded} times: {job.id}")
        if job.state is None:
            found.append(f"open for ever: {job.id} of {job.rule}")
        elif (job.state, succeeded) != ("succeeded", 1) and not ledger.died_often(job):
            found.append(f"odd end: {job.id} of {job.rule} is {job.state} ({job.reason})")
    return found


def odd_calls(ledger: Ledger, calls: Sequence[Call], rules: Collection[str]) -> list[str]:
    """
    Calls of an attempt that nobody recorded, or called twice; attempts that are said to have
    succeeded and of which the target knows nothing. `rules` are those that call it.
    """
    counts = Counter((one.job, one.attempt) for one in calls)
    found = [f"attempt called {n} times: {one}" for one, n in counts.items() if n > 1]
    found += [f"attempt not recorded: {one}" for one in counts if one not in ledger.outcomes]
    answered = {(one.job, one.attempt) for one in calls if one.status == 200}
    calling = {one.id for one in ledger.jobs if one.rule in rules}
    return found + [
        f"said to be done: {key}"
        for key, outcome in ledger.outcomes.items()
        if outcome == "succeeded" and key[0] in calling and key not in answered
    ]


def out_of_turn(ledger: Ledger, calls: Iterable[Call]) -> list[str]:
    """Calls of a lane that began before those of an earlier run had ended."""
    of_job: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        of_job[call.job].append(call)
    lanes: dict[str, list[StoredJob]] = defaultdict(list)
    for job in ledger.jobs:
        if job.lane is not None:
            lanes[job.lane].append(job)
    return [
        text
        for lane, jobs in lanes.items()
        for text in _lane(ledger, lane, sorted(jobs, key=lambda job: job.turn or 0), of_job)
    ]


def _lane(
    ledger: Ledger, lane: str, jobs: Sequence[StoredJob], of_job: Mapping[str, Sequence[Call]]
) -> list[str]:
    found, last, ended = [], "", float("-inf")
    for job in jobs:
        calls = [one for one in of_job.get(job.id, ()) if not ledger.was_taken_over(one)]
        if any(one.began < ended for one in calls):
            found.append(f"out of turn in {lane}: {job.id} began before {last} ended")
        until = max((one.ended or one.began for one in calls), default=ended)
        if until > ended:
            last, ended = job.id, until
    return found


def most_at_once(calls: Iterable[Call]) -> int:
    """How many ran at the same moment."""
    changes = []
    for one in calls:
        end = one.began if one.ended is None else one.ended
        changes += [(one.began, 1), (end, -1)]
    most = now = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most
