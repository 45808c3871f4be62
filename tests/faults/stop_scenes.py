"""SIGTERM in scenes of its own: around running actions, waiting retries and a stuck disk."""

import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests import ledger
from tests.acceptance.process import Rig, RouterProcess
from tests.acceptance.senders import ENDPOINTS, environ
from tests.acceptance.sink import Sink
from tests.faults.drained import AT_ONCE_S, TOTAL_S, Tally, recovered, wrong_end, wrong_rest
from tests.faults.life import WRITER, Life, attached, threads, wait_for
from tests.faults.steps import a_stage

GRACE_S = 1.0
LAST_S = 5.0
"""What the router takes after the grace, at most."""

SHELL = """
rules:
  - id: main
    from: code
    events: push
    actions:
      - {id: run, shell: {argv: ['sh', '-c', 'SCRIPT'], timeout: 1m}}
"""
HTTP = """
retries:
  soon: {schedule: [3s, 3s], jitter: 0}
rules:
  - id: main
    from: code
    events: push
    actions:
      - {id: call, http: {url: 'http://127.0.0.1:PORT/in', timeout: 1m}, retry: soon}
"""
SHORT = "echo b >> FOLDER/begun; sleep 0.7; echo e >> FOLDER/ended"
LONG = "echo b >> FOLDER/begun; test -e FOLDER/ended && exit 0; touch FOLDER/ended; sleep 60"
DEAF = f'trap "" TERM; {LONG}; sleep 60'


@dataclass
class Scene:
    """A router with one kind of job, and what came of it."""

    life: Life
    tally: Tally
    name: str

    def begun(self) -> int:
        """How often the command began."""
        try:
            return len((self.life.rig.folder / "begun").read_text("ascii").splitlines())
        except OSError:
            return 0

    def expect(self, what: str, holds: bool) -> None:
        if not holds:
            self.tally.problems.append(f"{self.name}: {what}")

    def stop(
        self, router: RouterProcess, most: float, *, failed: int = 0, again_s: float | None = None
    ) -> None:
        """SIGTERM, perhaps a second one; all that holds after any drain."""
        began = time.monotonic()
        router.signal(signal.SIGTERM)
        if again_s is not None:
            time.sleep(again_s)
            self.expect("not ended by the first signal", router.running)
            router.signal(signal.SIGTERM)
        router.ended(within=TOTAL_S + 5)
        self.tally.stopped(self.name, time.monotonic() - began, most)
        self.expect("did not end", not router.running)
        wrong = wrong_end(router) + wrong_rest(self.life.rig.store, failed=failed)
        self.life.gone(self.name)
        self.tally.problems += [f"{self.name}: {one}" for one in wrong]
        router.log.unlink()

    def finish(self) -> None:
        """The next start needs no help, and everything ends as it should."""
        with self.life.rig.router() as router:
            self.life.settle(router, self.name)
            self.tally.problems += [f"{self.name}: {one}" for one in recovered(router)]
        self.tally.problems += self.life.problems
        self.tally.acked += len(self.life.acked)


def shell_scene(folder: Path, tally: Tally, name: str, script: str, grace: str) -> Scene:
    folder.mkdir(parents=True)
    rules = SHELL.replace("SCRIPT", script.replace("FOLDER", str(folder)))
    rig = Rig(folder, ENDPOINTS + rules, environ(), f"  grace: {grace}\n")
    return Scene(Life(rig, jobs=1), tally, name)


def in_its_grace(folder: Path, tally: Tally) -> None:
    """An action that ends within the grace has its result written, and runs once."""
    scene = shell_scene(folder, tally, "an action that ends in its grace", SHORT, "20s")
    with scene.life.rig.router() as router:
        scene.life.send()
        router.until(scene.begun, "the command")
        scene.stop(router, 0.7 + AT_ONCE_S)
    scene.expect("it did not end", (folder / "ended").exists())
    scene.expect("its result was not written", scene.life.all_done())
    scene.finish()
    scene.expect(f"ran {scene.begun()} times", scene.begun() == 1)


def past_its_grace(folder: Path, tally: Tally, *, script: str = LONG) -> None:
    """One that does not is ended, whatever it does about it, and runs again; not charged."""
    name = "an action past its grace" + (", deaf" if script == DEAF else "")
    scene = shell_scene(folder, tally, name, script, f"{GRACE_S:g}s")
    with scene.life.rig.router() as router:
        scene.life.send()
        router.until(scene.begun, "the command")
        router.until((folder / "ended").exists, "the command")
        scene.stop(router, GRACE_S + AT_ONCE_S)
    scene.finish()
    scene.expect(f"ran {scene.begun()} times", scene.begun() == 2)


def past_its_grace_deaf(folder: Path, tally: Tally) -> None:
    """The same, and it ignores SIGTERM."""
    past_its_grace(folder, tally, script=DEAF)


def second_signal(folder: Path, tally: Tally) -> None:
    """A second SIGTERM ends the grace at once."""
    scene = shell_scene(folder, tally, "a second SIGTERM", LONG, "20s")
    with scene.life.rig.router() as router:
        scene.life.send()
        router.until((folder / "ended").exists, "the command")
        scene.stop(router, 0.5 + AT_ONCE_S, again_s=0.5)
    scene.finish()
    scene.expect(f"ran {scene.begun()} times", scene.begun() == 2)


def hanging_target(folder: Path, tally: Tally) -> None:
    """A call that hangs is broken off when the grace is over, and made again."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        rules = ENDPOINTS + HTTP.replace("PORT", str(port))
        rig = Rig(folder, rules, environ(), f"  grace: {GRACE_S:g}s\n")
        scene = Scene(Life(rig, jobs=1), tally, "a target that hangs")
        with rig.router() as router:
            scene.life.send()
            called, _ = silent.accept()
            with called:
                scene.stop(router, GRACE_S + AT_ONCE_S)
    with Sink(port=port) as sink:
        scene.finish()
    scene.expect(f"{len(sink.received)} calls", len(sink.received) == 1)


def between_retries(folder: Path, tally: Tally) -> None:
    """A retry that waits is waited for by nobody, and comes when it was due."""
    with Sink([503]) as sink:
        rig = Rig(folder, ENDPOINTS + HTTP.replace("PORT", str(sink.port)), environ())
        scene = Scene(Life(rig, jobs=1), tally, "a retry that waits")
        with rig.router() as router:
            scene.life.send()
            router.until(lambda: ledger.counts(rig.store).attempts, "an attempt")
            scene.stop(router, AT_ONCE_S, failed=1)
        scene.finish()
        calls = [one.at for one in sink.received]
    scene.expect(f"{len(calls)} calls", len(calls) == 2)
    scene.expect("too early", calls[-1] - calls[0] > 2.9)


def stuck_disk(folder: Path, tally: Tally) -> None:
    """A disk that does not come back: the process ends all the same, and says why."""
    name = "a disk that does not come back"
    with a_stage(folder) as stage:
        life = stage.life
        life.rig.server = f"  grace: {GRACE_S:g}s\n"
        life.rig.write(life.rig.rules)
        router = life.start()
        life.send()
        life.finish(router, name)
        with attached(threads(router)[WRITER], "-e", "trace=fdatasync", "-e", STUCK):
            life.send()
            began = time.monotonic()
            router.signal(signal.SIGTERM)
            wait_for(lambda: FORCED in router.output(), TOTAL_S + 5)
            tally.stopped(name, time.monotonic() - began, GRACE_S + LAST_S + 1)
        # strace held the thread that was stuck: only now the process can be gone.
        status = router.ended(within=AT_ONCE_S)
        if status != 1 or "Traceback" in router.log.read_text("utf-8"):
            tally.problems.append(f"{name}: ended with {status}:\n{router.output()[-1500:]}")
        if router.running:
            router.kill()
        life.gone(name)
        with life.rig.router() as router:
            life.settle(router, name)
        tally.problems += life.problems


FORCED = "ending by force"
STUCK = "inject=fdatasync:delay_enter=90000000"
SCENES: dict[str, Callable[[Path, Tally], None]] = {
    "grace": in_its_grace,
    "past": past_its_grace,
    "deaf": past_its_grace_deaf,
    "second": second_signal,
    "hanging": hanging_target,
    "retry": between_retries,
}
WITH_STRACE: dict[str, Callable[[Path, Tally], None]] = {"stuck": stuck_disk}
