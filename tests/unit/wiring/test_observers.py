"""What is heard of a job that nobody can read reaches the log, and whoever watches the feed."""

import io
import json
from typing import Any

from router import log
from router.metrics import Metrics
from router.wiring.observers import Heard, live_feed
from tests.clocks import ManualClock


class Watched:
    """Stands for intake and our own events: whatever is watched, ends are noted."""

    def __init__(self) -> None:
        self.told: Any = None
        self.ends: list[str] = []

    def watched(self, committed: object) -> None:
        """Nobody is told here."""

    def ended(self, job: str) -> None:
        self.ends.append(job)


def test_a_job_that_nobody_can_read_is_a_line_and_an_end() -> None:
    out = io.StringIO()
    log.configure(stream=out)
    heard, own = Heard(Metrics(), log.get("dispatch")), Watched()
    intake: Any = Watched()
    feed = live_feed(intake, heard, own, ManualClock())  # type: ignore[arg-type] # it asks no more
    heard.corrupt("job_1")
    feed._recording(True)
    heard.corrupt("job_2")
    feed._recording(False)
    heard.corrupt("job_3")
    log.reset()
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(one["event"], one["job"], one["reason"]) for one in lines] == [
        ("dead letter", f"job_{n}", "corrupt") for n in (1, 2, 3)
    ]
    assert own.ends == ["job_2"]
