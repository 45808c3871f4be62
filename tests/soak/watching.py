"""What the target, the notes, the log and the process of a soak tell, read as it goes on."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.error import HTTPError

from tests.fleet.target import Call, Target
from tests.soak.disturbances import Site
from tests.soak.drift import Point
from tests.soak.rules import NOTES
from tests.soak.samples import Heard, Sample, measured
from tests.soak.senders import Load

LOOK_S = 1.0
SAMPLED_EACH = 5
"""Looks."""
BUSY, SELDOM = 503, 50
"""One look of so many may be turned away."""
BAD = frozenset({"error", "critical"})
MEANT = (("dead letter", "rule", "gone"), ("target failing", "target", "flaky"))


class Watch:
    """`store` says what its store takes, in MiB; `logged` counts lines of the log by level."""

    def __init__(
        self, site: Site, load: Load, target: Target, store: Callable[[], Mapping[str, float]]
    ) -> None:
        self.site, self.load, self.target, self.store = site, load, target, store
        self.samples: list[Sample] = []
        self.logged: Counter[str] = Counter()
        self.problems: list[str] = []
        self._calls: list[Call] = []
        self._notes = _Tail(site.rig.folder / NOTES)
        self._log = _Tail(site.rig.folder / "router.log")
        self._looked = site.clock()

    async def go_on(self) -> None:
        """Look and measure until it is cancelled."""
        while True:
            for _ in range(SAMPLED_EACH):
                await asyncio.sleep(LOOK_S)
                self.look()
            await self._sample()

    def look(self) -> None:
        """What was called, noted and logged since the last look."""
        now = self.site.clock()
        expected = self.site.expected
        calls, self._calls, self.target.calls = self._calls + self.target.calls, [], []
        for call in calls:
            if call.ended is None:
                self._calls.append(call)
            elif call.status == 200:
                expected.did(call.path.removeprefix("/"), call.job, call.began, call.ended)
        for line in self._notes.lines():
            expected.did(*line.split(" "), self._looked, now)
        for line in self._log.lines():
            self._read(line)
        self._looked = now
        expected.forget(now)

    def points(self, life: int, measure: str) -> list[Point]:
        """How a measure moved in that life."""
        ours = (one for one in self.samples if one.life == life and measure in one.values)
        return [(one.age, one.values[measure]) for one in ours]

    def _read(self, line: str) -> None:
        try:
            fields = json.loads(line)
            level, event = fields["level"], str(fields["event"])
        except (ValueError, KeyError):
            fields, level, event = {}, "error", line  # a traceback, or what a library printed
        self.logged[level] += 1
        if level in BAD and not _is_meant(fields):
            self.problems.append(f"the log says: {event[:200]}")

    async def _sample(self) -> None:
        site, life = self.site, self.site.lives
        if not site.up:
            return
        heard, self.load.lately = self.load.lately, Heard()
        try:
            values = await asyncio.to_thread(measured, site.router, heard, self.store)
        except (OSError, AssertionError) as error:
            seldom = site.did["looks turned away"] * SELDOM <= len(self.samples)
            if isinstance(error, HTTPError) and error.code == BUSY and seldom:
                site.did["looks turned away"] += 1  # as a sender may be, when it came too late
            elif site.up and site.lives == life:
                self.problems.append(f"no sample: {error!r}"[:300])
            return
        now = site.clock()
        self.samples.append(Sample(now, life, now - site.born, values))


def _is_meant(fields: Mapping[str, object]) -> bool:
    """Whether a line tells of what is done on purpose."""
    event = str(fields.get("event"))
    return event.startswith("reload failed") or any(
        event == said and fields.get(key) == value for said, key, value in MEANT
    )


class _Tail:
    """A file that grows."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset = path, 0

    def lines(self) -> list[str]:
        """The whole lines that were not read yet."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            whole = file.read().rpartition(b"\n")[0]
        self._offset += len(whole) + bool(whole)
        return whole.decode("utf-8", "replace").splitlines()
