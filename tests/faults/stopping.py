"""
SIGTERM at every named step and in every state of the work.

    python -m tests.faults.stopping                     eight steps of each state, some minutes
    python -m tests.faults.stopping --count 1000        every step, half an hour

    steps      at each step of `tests.faults.steps`' states, while rules are reloaded, and at each
               statement of the making of a store
    scenes     while an action runs that ends within its grace, or does not; while a retry waits;
               with a second SIGTERM; with a disk that does not come back (strace)
    load       while senders go on over kept connections, again and again

After each: exit 0, soon, and no error in the log; what was being taken has its answer; no job is
left running; no attempt is charged that did not fail. The next start recovers nothing, for nothing
was left to recover, and everything ends. An action that had its grace runs once and not again.
"""

import argparse
import random
import re
import shutil
import signal
import sys
import time
from contextlib import closing
from pathlib import Path

from router.store.sqlite import schema
from tests import ledger
from tests.acceptance.process import RouterDied, RouterProcess, TookTooLong
from tests.faults import steps, stop_scenes
from tests.faults.drained import QUICK_S, TOTAL_S, Tally, recovered, wrong_end, wrong_rest
from tests.faults.life import chosen, wait_for
from tests.faults.server import SENT
from tests.faults.steps import START_S, Stage, State, Step, a_stage
from tests.faults.stop_load import under_load
from tests.faults.telling import by_count, reported


def reload_rules(stage: Stage) -> None:
    """Other rules, and what a delivery does meanwhile."""
    router, rig = stage.watched, stage.life.rig
    assert router is not None
    number = stage.life.number + 1
    rig.write(re.sub(r"log: 'push [^']*'", f"log: 'push {{{{ payload.id }}}} {number}'", rig.rules))
    if router.running:
        router.signal(signal.SIGHUP)
        stage.one()
    wait_for(lambda: not router.running or '"event":"reloaded' in router.output(), START_S)


STATES = (*steps.STATES, State("reload", begin="start", live=reload_rules))


def lived(stage: Stage, state: State, *options: str) -> tuple[float | None, bool]:
    """
    One life with a SIGTERM to itself; seconds from the signal to the end, None without a signal,
    and whether the first sender had an answer.
    """
    life, before = stage.life, len(stage.life.acked)
    state.before(stage)
    stage.sink.answers = list(state.answers)
    router = stage.router("--from", state.begin, "--signal", "SIGTERM", *options)
    router.log.unlink(missing_ok=True)
    stage.watched = router.launch()
    try:
        wait_for(lambda: not router.running or router.ready(), START_S)
        if router.running:
            state.live(stage)
        wait_for(lambda: not router.running or sent(router) is not None or life.all_done(), START_S)
        if wait_for(lambda: not router.running or sent(router) is not None, 0.1):
            wait_for(lambda: not router.running, TOTAL_S + 1)
        at, now = sent(router), time.monotonic()
        return None if at is None else now - at, len(life.acked) > before
    finally:
        if router.running:
            router.kill()


def sent(router: RouterProcess) -> float | None:
    """When the router sent itself the signal."""
    found = re.search(rf"^{SENT} ([0-9.]+)$", router.log.read_text("utf-8", "replace"), re.M)
    return float(found[1]) if found else None


def at(stage: Stage, state: State, step: Step, tally: Tally) -> None:
    """Stop there; then a plain router goes on."""
    where, life = f"{state.name}, {step[0]} {step[1]}", stage.life
    calls = len(stage.sink.received)
    seconds, answered = lived(stage, state, "--die", step[0], str(step[1]))
    assert stage.watched is not None
    found = []
    if seconds is None:
        tally.missed += 1
    else:
        tally.stopped(where, seconds, QUICK_S)
        life.gone(where)
        found += wrong_end(stage.watched)
        found += after_drain(stage, state, answered=answered)
    failures = len(state.answers) - len(stage.sink.answers)
    stage.sink.answers = []
    stage.watched.log.unlink()
    with life.rig.router() as router:
        life.settle(router, where)
        found += recovered(router) if state.name != "recovery" and seconds is not None else []
    calls = len(stage.sink.received) - calls
    if state.begin == "accept" and calls != 1 + failures and seconds is not None:
        found.append(f"{calls} calls of the target")
    life.problems += [f"{where}: {one}" for one in found]


def after_drain(stage: Stage, state: State, *, answered: bool) -> list[str]:
    """What is in the store, and what the sender heard."""
    if state.name == "recovery":  # what another left may still be there
        return []
    found = wrong_rest(stage.life.rig.store, failed=len(state.answers) * stage.life.number)
    if not answered and state.begin == "accept":
        found.append("what was being taken got no answer")
    return found


def one_state(folder: Path, state: State, count: int | None, tally: Tally) -> None:
    todo = chosen(steps.recorded(folder / "recorded", state), count)
    with a_stage(folder / "store") as stage:
        try:
            for step in reported(todo, state.name):
                at(stage, state, step, tally)
                if stage.life.problems:
                    break
        except (RouterDied, TookTooLong) as error:
            stage.life.problems.append(str(error))
        tally.acked += len(stage.life.acked)
        tally.resent += stage.life.resent
        tally.problems += stage.life.problems


def making(folder: Path, count: int | None, tally: Tally) -> None:
    """Stop at so many statements of the making of a store; the next start makes it whole."""
    statements = len(list(schema.statements(schema.SCRIPT)))
    todo = chosen(range(1, statements + 1), count)
    for number in reported(todo, "making"):
        stage_folder = folder / f"at-{number}"
        with a_stage(stage_folder) as stage:
            before = len(tally.problems)
            one_making(stage, number, tally)
            if len(tally.problems) > before:
                return
        shutil.rmtree(stage_folder)


def one_making(stage: Stage, number: int, tally: Tally) -> None:
    rig, where = stage.life.rig, f"making, statement {number}"
    options = ("--from", "start", "--signal", "SIGTERM", "--die", "making", str(number))
    router = stage.router(*options).launch()
    try:
        wait_for(lambda: not router.running or router.ready(), START_S)
        wait_for(lambda: not router.running, 0.1)
        at, now = sent(router), time.monotonic()
    finally:
        if router.running:
            router.kill()
    if at is None:
        tally.missed += 1
        return
    tally.stopped(where, now - at, QUICK_S)
    tally.problems += [f"{where}: {one}" for one in wrong_end(router)]
    router.log.unlink()
    with rig.router(), closing(ledger.connect(rig.store)) as db:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        broken = ledger.corruption(db)
    if (version, broken) != (schema.VERSION, []):
        tally.problems.append(f"{where}: version {version} {broken}")


def campaign(folder: Path, count: int | None, cycles: int, rng: random.Random) -> Tally:
    """All states and scenes; all steps, or `count` of each state."""
    tally = Tally()
    for state in STATES:
        if not tally.problems:
            one_state(folder / state.name, state, count, tally)
    if not tally.problems:
        making(folder / "making", count, tally)
    scenes = stop_scenes.SCENES | (stop_scenes.WITH_STRACE if shutil.which("strace") else {})
    for name in reported(list(scenes), "scenes"):
        try:
            scenes[name](folder / f"scene-{name}", tally)
        except (RouterDied, TookTooLong) as error:
            tally.problems.append(str(error))
    under_load(folder / "load", cycles, rng, tally)
    return tally


def main() -> int:
    counts = {
        "count": (8, "steps of each state, spread evenly"),
        "cycles": (20, "restarts under load"),
    }

    def run(folder: Path, given: argparse.Namespace, rng: random.Random) -> Tally:
        return campaign(folder, given.count, given.cycles, rng)

    return by_count(__doc__, counts, run)


if __name__ == "__main__":
    sys.exit(main())
