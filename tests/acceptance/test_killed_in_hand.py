"""SIGKILL while some commands run and others wait in hand: the router tells them apart."""

import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import ledger
from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import PATIENCE_S, Rig, RouterProcess
from tests.acceptance.senders import shop
from tests.ledger import STATE

SLOTS = 2
"""Commands of one target at once, of four in all."""
MANY = 40
"""Jobs that are open before the commands go on."""
RULES = """
rules:
  - id: short
    from: shop
    actions:
      shell:
        script: |
          : > "begun/$WEBHOOK_JOB.$WEBHOOK_ATTEMPT"
          while [ -e gate ]; do sleep 0.02; done
          : > "ended/$WEBHOOK_JOB.$WEBHOOK_ATTEMPT"
        stdin: none
"""
OPEN = "SELECT id, attempt, started_at FROM jobs WHERE state = ?"
AFTER = """
    SELECT j.deaths, a.reason FROM jobs j JOIN attempts a ON a.job = j.n
    WHERE j.id = ? AND a.number = ?
"""
Attempts = frozenset[tuple[str, int]]


class InHand(NamedTuple):
    """Of the attempts that were leased ahead: those that have begun since, and those that wait."""

    begun: Attempts
    waiting: Attempts


@dataclass
class Commands:
    """What the commands of a rig say of themselves. While the gate is shut, none ends."""

    rig: Rig

    def __post_init__(self) -> None:
        for name in ("begun", "ended"):
            (self.rig.folder / name).mkdir()
        self.gate.touch()

    @property
    def gate(self) -> Path:
        return self.rig.folder / "gate"

    def begun(self) -> Attempts:
        return self._said("begun")

    def running(self) -> Attempts:
        return self.begun() - self._said("ended")

    def _said(self, name: str) -> Attempts:
        words = [file.name.rpartition(".") for file in (self.rig.folder / name).iterdir()]
        return frozenset((job, int(attempt)) for job, _, attempt in words)


def leased_ahead(rig: Rig, *, killed: bool = False) -> Attempts:
    """As the ledger has them, whether or not they have begun since."""
    with closing(ledger.connect(rig.store, mend=killed)) as db:
        rows = db.execute(OPEN, (STATE["running"],)).fetchall()
    return frozenset((job, attempt) for job, attempt, started in rows if started is None)


def left(rig: Rig) -> int:
    """Jobs that have not succeeded."""
    found = ledger.counts(rig.store)
    return found.jobs - found.succeeded


def until_in_hand(commands: Commands, router: RouterProcess, more: Callable[[], None]) -> InHand:
    """
    Stop the router while its commands hang, some of them leased ahead, and others wait in hand.

    Where there are none of both, the commands go on for a moment, with as many jobs as before.
    """
    deadline = time.monotonic() + 4 * PATIENCE_S  # where all is slow, few commands are short
    while time.monotonic() < deadline:
        more()
        router.until(lambda: len(commands.running()) == SLOTS, "a command in each slot")
        router.signal(signal.SIGSTOP)
        running, ahead = commands.running(), leased_ahead(commands.rig)
        # Who has not said that he ended holds his slot still, so that nobody else can have begun.
        # Who has may not be settled yet.
        waiting = ahead - commands.begun()
        if len(running) == SLOTS and running & ahead and waiting:
            return InHand(running & ahead, waiting)
        router.signal(signal.SIGCONT)
        before = len(commands.begun())
        commands.gate.unlink()
        router.until(lambda n=before: len(commands.begun()) > n + 4, "some commands")  # type: ignore[misc]
        commands.gate.touch()
    raise AssertionError(f"never was one in hand:\n{router.output()}")


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_kill_is_a_death_of_those_that_had_begun_not_of_those_in_hand(
    make_rig: MakeRig, send: Send
) -> None:
    """The ledger alone does not know: each of them is leased, and none is recorded as begun."""
    rig = make_rig(RULES)
    commands, numbers = Commands(rig), count()

    def more() -> None:
        for number in islice(numbers, max(0, MANY - left(rig))):
            assert send(rig, shop(), number).json()["status"] == "accepted"

    with rig.router() as router:
        in_hand = until_in_hand(commands, router, more)
        router.kill()
    # It may have been stopped in a commit that nobody saw.
    ahead = leased_ahead(rig, killed=True)
    in_hand = InHand(in_hand.begun & ahead, in_hand.waiting & ahead)
    with rig.router() as router:
        with closing(ledger.connect(rig.store)) as db:
            after = {one: db.execute(AFTER, one).fetchall() for one in set().union(*in_hand)}
        assert [after[one] for one in in_hand.begun] == [[(1, "the router ended")]] * len(
            in_hand.begun
        )
        assert [after[one] for one in in_hand.waiting] == [
            [(0, "the router ended before it began")]
        ] * len(in_hand.waiting)
        commands.gate.unlink()
        router.until(lambda: not left(rig), "all to succeed")
    times = Counter(job for job, _ in commands.begun())
    assert {times[job] for job, _ in in_hand.waiting} == {1}, "who only waited ran once"
