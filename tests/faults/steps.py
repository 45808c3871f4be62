"""
SIGKILL at every named step, in every state of the work.

    python -m tests.faults.steps

A life is recorded step by step in each of these states, then the router dies at each step of each:

    fresh      a delivery comes, its jobs are handed over and run, one after another in a chain
    retry      the same, and the target fails once
    copy       the same delivery comes a second time
    recovery   a router starts on what another left when it was killed before it wrote a result

Steps are those of `tests.faults.server`: before and after each verb of the store (accept, lease,
settle, recover, …), before BEGIN, each kind of statement and COMMIT, and right after a commit.
Two seconds after each nothing runs that the router had started, the plugin's process neither; the
next start needs no help, the ledger is sound and holds what was acknowledged, nothing is there
twice, what had no answer is taken when it is sent again, and every job ends.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests import ledger
from tests.acceptance.process import Rig, RouterDied, RouterProcess, TookTooLong
from tests.acceptance.senders import environ
from tests.acceptance.sink import Sink
from tests.faults.life import (
    JOBS,
    WITH_PLUGIN,
    Life,
    chosen,
    unheard,
    wait_for,
    write_plugin,
)
from tests.faults.telling import by_count, reported

CHAINED = WITH_PLUGIN.replace("{id: run, ", "{id: run, after: call, ").replace(
    "{id: plug, ", "{id: plug, after: run, "
)
LIFE_S = 10.0
START_S = 20.0

Step = tuple[str, int]


@dataclass(frozen=True)
class State:
    """A state of the work: what is done before the router that dies starts, and after it did."""

    name: str
    begin: str = "accept"
    answers: tuple[int, ...] = ()
    before: Callable[["Stage"], None] = lambda stage: None
    live: Callable[["Stage"], None] = lambda stage: stage.one()


@dataclass
class Stage:
    """A life and the place it calls."""

    life: Life
    sink: Sink
    watched: RouterProcess | None = None

    def one(self) -> None:
        self.life.send()

    def again(self) -> None:
        """One, and once it is done the same again."""
        self.one()
        self.wait()
        if self.watched is not None and self.watched.running:
            self.life.send(self.life.number)

    def wait(self) -> None:
        router = self.watched
        wait_for(lambda: router is None or not router.running or self.life.all_done(), LIFE_S)

    def router(self, *options: str) -> RouterProcess:
        """One that names its steps."""
        rig = self.life.rig
        tracer = (sys.executable, "-m", "tests.faults.server", *options, "--")
        return RouterProcess(rig.path, rig.listen, rig.admin, rig.environ, tracer=tracer)


def left_running(stage: Stage) -> None:
    """What a router leaves that dies before it has written its first result."""
    stage.watched = stage.router("--die", "settle-asked", "1").launch()
    try:
        stage.watched.until(stage.watched.ready, "ready")
        stage.one()
        wait_for(lambda: stage.watched is not None and not stage.watched.running, LIFE_S)
    finally:
        if stage.watched.running:
            stage.watched.kill()


STATES = (
    State("fresh"),
    State("retry", answers=(503,)),
    State("copy", live=Stage.again),
    State("recovery", begin="start", before=left_running, live=lambda stage: None),
)


@dataclass
class Tally:
    """What all steps came to."""

    steps: int = 0
    killed: int = 0
    missed: int = 0
    acked: int = 0
    resent: int = 0
    absorbed: int = 0
    slowest_gone: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.steps} steps in {len(STATES)} states: {self.killed} kills, {self.missed} "
            f"not reached, {self.acked} acknowledged, {self.resent} unanswered and sent again, "
            f"of which {self.absorbed} had been stored; what they had started was gone within "
            f"{self.slowest_gone:.2f} s; {len(self.problems)} problems"
        )


@contextmanager
def a_stage(folder: Path) -> Iterator[Stage]:
    with Sink() as sink:
        sink.server.handle_error = unheard  # type: ignore[method-assign]
        rig = Rig(folder, CHAINED.replace("SINK", sink.url), environ())
        write_plugin(folder)
        yield Stage(Life(rig, jobs=JOBS + 1), sink)


def lived(stage: Stage, state: State, *options: str) -> bool:
    """One life in this state with these options of the server; whether it was killed."""
    state.before(stage)
    stage.sink.answers = list(state.answers)
    stage.watched = stage.router("--from", state.begin, *options).launch()
    router = stage.watched
    try:
        wait_for(lambda: not router.running or router.ready(), START_S)
        if router.running:
            state.live(stage)
        stage.wait()
        # The last step may come after the last job's end.
        wait_for(lambda: not router.running, 0.1)
        return died(router)
    finally:
        if router.running:
            router.kill()


def died(router: RouterProcess) -> bool:
    """
    Whether it was killed; False: it runs.

    Raises:
        RouterDied: it has ended by itself.
    """
    assert router.process is not None
    if router.running:
        return False
    if router.process.returncode != -signal.SIGKILL:
        raise RouterDied(f"it was not killed, it ended:\n{router.output()}")
    return True


def recorded(folder: Path, state: State) -> list[Step]:
    """Every step of a life in this state."""
    with a_stage(folder) as stage:
        lived(stage, state, "--record", str(folder / "steps"))
        lines = (folder / "steps").read_text("ascii").splitlines()
    return sorted({(name, int(n)) for name, n in (line.split(" ") for line in lines)})


def at(stage: Stage, state: State, step: Step, tally: Tally) -> None:
    """Die there; then a plain router goes on."""
    where = f"{state.name}, {step[0]} {step[1]}"
    killed = lived(stage, state, "--die", step[0], str(step[1]))
    tally.steps += 1
    tally.killed += killed
    tally.missed += not killed
    stage.life.gone(where)
    with stage.life.rig.router() as router:
        stage.life.settle(router, where)
    if ledger.counts(stage.life.rig.store).jobs != stage.life.jobs * stage.life.number:
        stage.life.problems.append(f"{where}: not {stage.life.jobs} jobs a delivery")


def one_state(folder: Path, state: State, count: int | None, tally: Tally) -> None:
    with a_stage(folder / "store") as stage:
        try:
            steps = chosen(recorded(folder / "recorded", state), count)
            for step in reported(steps, state.name):
                at(stage, state, step, tally)
                if stage.life.problems:
                    break
        except (RouterDied, TookTooLong) as error:
            stage.life.problems.append(str(error))
        tally.acked += len(stage.life.acked)
        tally.resent += stage.life.resent
        tally.absorbed += stage.life.absorbed
        tally.slowest_gone = max(tally.slowest_gone, stage.life.slowest_gone)
        tally.problems += stage.life.problems


def campaign(folder: Path, count: int | None) -> Tally:
    """All states, all steps or `count` of each."""
    tally = Tally()
    for state in STATES:
        one_state(folder / state.name, state, count, tally)
    return tally


def main() -> int:
    counts = {"count": (None, "steps of each state, spread evenly; nothing is drawn")}
    return by_count(__doc__, counts, lambda at, given, _: campaign(at, given.count))


if __name__ == "__main__":
    sys.exit(main())
