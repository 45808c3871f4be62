"""
What dispatch promises, I17 to I30 of the list of invariants, held against one life of `whole`.

A check raises if the promise is broken; what is broken while it happens is in `history.wrong`, with
the number before it. `met` says how often a promise had its chance to be broken: a check that
nothing ever meets shows nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from router.model.job import ENDED, Attempt, Job, RetryOutcome
from router.model.retry import SHORT
from tests.sim.twin import ATTEMPTS_MOST
from tests.sim.whole import Whole

Check = Callable[[Whole], Iterator[str]]
CHECKS: dict[int, Check] = {}
SCHEDULE = (1_000, 5_000, 30_000)
DEATHS = 3
ENDED_WITH_US = "the router ended"


def promise(number: int) -> Callable[[Check], Check]:
    """Registers the check of a promise by its number."""

    def registered(check: Check) -> Check:
        assert number not in CHECKS
        CHECKS[number] = check
        return check

    return registered


def broken(world: Whole) -> list[str]:
    """Every promise that this life broke, in words that begin with its number."""
    found = list(world.history.wrong)
    for number, check in CHECKS.items():
        found += [f"I{number}: {text}" for text in check(world)]
    return found


def _jobs(world: Whole) -> Iterator[tuple[Job, list[Attempt]]]:
    for job in world.history.jobs.values():
        yield job, world.history.attempts.get(job.id, [])


@promise(17)
def one_end(world: Whole) -> Iterator[str]:
    """Every job ends, once for each time that it was opened; nothing is left running."""
    history = world.history
    for job, _ in _jobs(world):
        history.put_to_the_test(17)
        if job.state not in ENDED:
            yield f"{job.id} is {job.state} at the end of all things"
        if len(history.ends.get(job.id, ())) > 1 + history.revived[job.id]:
            yield f"{job.id} ended {history.ends[job.id]}"


@promise(18)
def only_its_holder(world: Whole) -> Iterator[str]:
    """Only the holder of the lease writes a result: nothing that came too late is kept."""
    for job, attempts in _jobs(world):
        if any(attempt.result.get("late") for attempt in attempts):
            yield f"{job.id} keeps a late result"


@promise(19)
def bounded_attempts(world: Whole) -> Iterator[str]:
    """No more attempts than the schedule has, and one for each of our own deaths."""
    history = world.history
    for job, attempts in _jobs(world):
        ours = [a for a in attempts if a.outcome == "interrupted"]
        free = history.reclaimed[job.id] + history.given_back[job.id]
        if len(ours) != free:
            yield f"{job.id} was interrupted {len(ours)} times, {free} were our doing"
        most = ATTEMPTS_MOST * (1 + history.revived[job.id])
        if len(attempts) - len(ours) > most:
            yield f"{job.id} was tried {len(attempts)} times"


@promise(20)
def a_cause_each(world: Whole) -> Iterator[str]:
    """Another attempt has its cause in the one before, and no attempt is begun twice."""
    history = world.history
    for job, attempts in _jobs(world):
        numbers = [attempt.number for attempt in attempts]
        if numbers != list(range(1, len(numbers) + 1)) or job.attempt != len(numbers):
            yield f"{job.id} began {job.attempt} times, kept are {numbers}"
        begun = Counter(begin.attempt for begin in history.begun.get(job.id, ()))
        if begun and max(begun.values()) > 1:
            yield f"{job.id} began an attempt more than once: {begun}"
        ended = [a for a in attempts[:-1] if a.outcome not in ("failed", "interrupted")]
        if len(ended) > history.revived[job.id]:
            yield f"{job.id} ran again after {[a.outcome for a in attempts]}"


@promise(21)
def one_key(world: Whole) -> Iterator[str]:
    """Every attempt of a job sends one key, a replay another one, and says what it replays."""
    keys: dict[str, str] = {}
    for id_, begun in world.history.begun.items():
        world.history.put_to_the_test(21)
        sent = {begin.key for begin in begun}
        if len(sent) != 1:
            yield f"{id_} sent {sent}"
        for key in sent:
            if keys.setdefault(key, id_) != id_:
                yield f"{id_} and {keys[key]} send the same key"
    for id_ in world.history.made_by:
        if not world.history.jobs[id_].replay_of:
            yield f"{id_} does not say what it replays"


@promise(22)
def no_endless_crashes(world: Whole) -> Iterator[str]:
    """The third of our deaths in a row is a job's last."""
    for job, attempts in _jobs(world):
        row = longest = 0
        for attempt in attempts:
            died = attempt.outcome == "interrupted" and attempt.reason == ENDED_WITH_US
            free = attempt.outcome in ("interrupted", "skipped")
            row = row + 1 if died else row if free else 0
            longest = max(longest, row)
        if longest >= DEATHS:
            world.history.put_to_the_test(22)
        revived = world.history.revived[job.id]
        if longest > DEATHS * (1 + revived):
            yield f"{job.id} took {longest} processes with it"
        if job.reason == "crash_loop" and (job.deaths != DEATHS or longest < DEATHS):
            yield f"{job.id} is a crash loop after {job.deaths} deaths"
        if longest >= DEATHS and not revived and job.reason != "crash_loop":
            yield f"{job.id} took {longest} processes with it and is {job.state} {job.reason}"


@promise(23)
def turns(world: Whole) -> Iterator[str]:
    """Order and turns are checked as jobs begin; at the end nobody keeps a turn."""
    for run in world.twins.model.runs.runs:
        if run.place not in (None, "gone"):
            yield f"{run.jobs} keep their turn"


@promise(24)
def shares(world: Whole) -> Iterator[str]:
    """Of one target no more than its share runs: checked as jobs begin."""
    del world
    yield from ()


@promise(25)
def no_open_transaction(world: Whole) -> Iterator[str]:
    """Another connection can write while an action runs: checked as it begins and ends."""
    del world
    yield from ()


@promise(26)
def due_times_stay(world: Whole) -> Iterator[str]:
    """What is due when is stored and outlives us; a restart spends nothing of the schedule."""
    for job, attempts in _jobs(world):
        charged = [a for a in attempts if a.outcome not in ("interrupted", "skipped")]
        if not world.history.revived[job.id] and job.charged != len(charged):
            yield f"{job.id} is charged {job.charged}, its attempts {len(charged)}"


@promise(27)
def retries_in_bounds(world: Whole) -> Iterator[str]:
    """A delay has its jitter, and a Retry-After of the target is kept between 1 s and 24 h."""
    spread: list[float] = []
    for retried in world.history.retries:
        outcome = retried.outcome
        if not isinstance(outcome, RetryOutcome):
            continue
        world.history.put_to_the_test(27)
        schedule = SCHEDULE + (SHORT.schedule_ms if outcome.failure == "temporary" else ())
        base = schedule[min(retried.charged, len(schedule) - 1)]
        least, most = base * 0.8, base * 1.2
        if outcome.after_s is not None:
            asked = 1000 * min(max(outcome.after_s, 1.0), 86_400.0)
            taken = outcome.failure == "temporary"
            least, most = (asked, asked) if taken else (max(least, asked), max(most, asked))
        else:
            spread.append(round(retried.delay_ms / base, 3))
        if not least - 1 <= retried.delay_ms <= most + 1:
            yield f"{retried} waits {retried.delay_ms} ms, not {least} to {most}"
    if len(spread) > 4 and len(set(spread)) == 1:
        yield f"every delay is spread alike: {spread[0]}"


@promise(28)
def dead_letters_are_whole(world: Whole) -> Iterator[str]:
    """A dead job keeps its delivery and every attempt, and can be made again."""
    history = world.history
    for job, attempts in _jobs(world):
        if job.state != "dead":
            continue
        history.put_to_the_test(28)
        if job.delivery in history.bodies:
            body = world.twins.model._deliveries[job.delivery][0].body
            if body != history.bodies[job.delivery]:
                yield f"{job.id} has lost its delivery"
        if not attempts or not job.reason:
            yield f"{job.id} is dead and nobody knows why"
        for attempt in attempts:
            reported = history.outcomes.get((job.id, attempt.number))
            kept = attempt.outcome in ("failed", "dead") and isinstance(reported, RetryOutcome)
            if kept and isinstance(reported, RetryOutcome) and attempt.result != reported.result:
                yield f"{job.id} has lost what its attempt {attempt.number} was answered"


@promise(29)
def replays_once(world: Whole) -> Iterator[str]:
    """A replay makes each job once, whoever asks how often, at its pace; cancelled, no more."""
    history = world.history
    for name, asked in world.replays.items():
        made = [history.jobs[id_] for id_, by in history.made_by.items() if by == name]
        twice = Counter((j.replay_of, j.event_index, j.rule, j.action) for j in made)
        if made:
            history.put_to_the_test(29)
        if twice and max(twice.values()) > 1:
            yield f"{name} made {twice.most_common(1)}"
        if asked.rate is None:
            continue
        for (replay, target), due in history.paces.items():
            gaps = [later - sooner for sooner, later in pairwise(due)]
            if replay == name and gaps and min(gaps) < 1000 / asked.rate - 1:
                yield f"{name} gives {target} jobs {min(gaps)} ms apart"


@promise(30)
def copies_open_the_dead(world: Whole) -> Iterator[str]:
    """A copy opens what is dead where it may: checked as it is answered. It never adds a job."""
    by_delivery = Counter(
        (j.delivery, j.event_index, j.rule, j.action)
        for j in world.history.jobs.values()
        if j.replay_of is None
    )
    yield from (f"{key} was made {n} times" for key, n in by_delivery.items() if n > 1)
    for job, _ in _jobs(world):
        by_operator = job.rule == "plain"  # the only rule that ours revives by hand
        if world.history.revived[job.id] and job.endpoint == "quiet" and not by_operator:
            yield f"{job.id} was opened again where nobody may"
