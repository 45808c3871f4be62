"""A router that is stopped in the middle of everything (SIGSTOP), and goes on."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from tests import ledger
from tests.acceptance.process import Rig
from tests.faults.life import Answer, Life, a_life
from tests.faults.wanting import Tally

PAUSE_S = 12.0
START_S = 20.0


def paused(folder: Path, tally: Tally, *, seconds: float = PAUSE_S) -> None:
    """Stopped in the middle of everything, for longer than its deadlines, and on again."""
    with a_life(folder) as life, life.rig.router() as router, ThreadPoolExecutor(8) as pool:
        over = time.monotonic() + 1.0 + seconds + 2.0
        sending = [pool.submit(keep_sending, life, n, over) for n in range(8)]
        time.sleep(1.0)
        router.signal(signal.SIGSTOP)
        second = takes_over(life.rig, seconds)
        router.signal(signal.SIGCONT)
        answers = [answer for one in sending for answer in one.result()]
        for answer in answers:
            word = {0: "none", 200: "200", 503: "503"}.get(answer.status, "odd")
            tally.answers[word] += 1
            if word == "odd":
                tally.problems.append(f"paused: {answer}")
        if second is not None:
            tally.problems.append(f"paused: {second}")
        life.settle(router, "paused")
        tally.problems += life.problems
        tally.figures.append(f"{seconds:.0f} s paused, {called_again(life.rig.store)} tried again")
        if '"level":"error"' in router.log.read_text("utf-8", "replace"):
            tally.problems.append(f"paused: {router.output()}")


def keep_sending(life: Life, place: int, over: float) -> list[Answer]:
    """One delivery after the other; numbers of its own, so that senders need no lock."""
    answers, number = [], 1_000_000 * (place + 1)
    while time.monotonic() < over:
        number += 1
        answers.append(life.send(number))
    return answers


def takes_over(rig: Rig, seconds: float) -> str | None:
    """A second router tries to start meanwhile; what is wrong with how that ended."""
    until = time.monotonic() + seconds
    other = Rig(rig.folder / "other", rig.rules, rig.environ)
    rules = other.path.read_text("utf-8").replace("sqlite:router.db", f"sqlite:{rig.store}")
    other.path.write_text(rules, "utf-8")
    router = other.router().launch()
    status = router.ended(within=max(seconds, START_S / 2))
    if status is None:
        router.kill()
    time.sleep(max(0.0, until - time.monotonic()))
    return None if status == 1 else f"a second router: {status}\n{router.output()}"


def called_again(store: Path) -> int:
    """Jobs that needed more than one attempt."""
    with closing(ledger.connect(store)) as db:
        query = "SELECT count(*) FROM (SELECT 1 FROM attempts GROUP BY job HAVING count(*) > 1)"
        return int(db.execute(query).fetchone()[0])
