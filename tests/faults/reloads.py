"""
Reloads against deliveries: files broken, half-written and swapped while requests come.

    python -m tests.faults.reloads --races 1000

Every whole version of the file has two rules that only this version has, and both match every
delivery. So each delivery must be answered with 200 and have jobs of exactly two rules, of one
version that was once whole in the rules file's place.
"""

import argparse
import asyncio
import json
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.process import Rig, RouterProcess
from tests.acceptance.senders import ENDPOINTS, code, environ
from tests.faults.kill import Client

CONNECTIONS = 4
PAUSE_S = 0.03


@dataclass
class Tally:
    """What all races came to."""

    races: int = 0
    acked: int = 0
    versions: int = 0
    reloads: int = 0
    failed: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.races} races: {self.acked} deliveries acknowledged under {self.versions} "
            f"versions, {self.reloads} reloads done, {self.failed} refused, "
            f"{len(self.problems)} problems"
        )


def rules(version: int) -> str:
    """A version; cut anywhere within its rules it is no YAML."""
    return ENDPOINTS + (
        f"rules: [{{id: a{version}, from: code, actions: {{log: a}}}}, # {'x' * 200}\n"
        f"  {{id: b{version}, from: code, actions: {{log: b}}}}]\n"
    )


class Races:
    """One router, one rules file, many ways to put another in its place."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.rig = Rig(folder / "router", rules(0), environ())
        self.rng = rng
        self.tally = Tally()
        self.version = 0
        self.whole = {0}

    async def run(self, races: int) -> Tally:
        """Change the file so often while deliveries come; then look at what they became."""
        with self.rig.router() as router:
            client = Client(self.rig.listen, code(), time.time_ns() // 1_000_000)
            sending = [asyncio.create_task(client.keep_sending()) for _ in range(CONNECTIONS)]
            for _ in range(races):
                self.change()
                router.signal(signal.SIGHUP)
                await asyncio.sleep(self.rng.uniform(0, 2 * PAUSE_S))
                self.tally.races += 1
            await self.settle(router)
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)
            self.tally.acked = len(client.acked)
            self.tally.problems += client.refused
            if router.stop() != 0:
                self.tally.problems.append(f"the router did not stop well: {router.output()}")
            self.read_log(router)
        self.judge(set(client.acked))
        return self.tally

    def change(self) -> None:
        """One of the ways in which people and tools put a file in its place."""
        ways: list[Callable[[str], None]] = [
            self.renamed,
            self.linked,
            self.half_written,
            self.broken,
            self.gone,
        ]
        self.rng.choice(ways)(self.next())

    def next(self) -> str:
        self.version += 1
        self.whole.add(self.version)
        return self.rig.head() + rules(self.version)

    def renamed(self, text: str) -> None:
        fresh = self.rig.folder / "fresh.yaml"
        fresh.write_text(text, "utf-8")
        fresh.replace(self.rig.path)

    def linked(self, text: str) -> None:
        """As a mounted configuration is: a link to a folder is exchanged."""
        folder = self.rig.folder / f"v{self.version}"
        folder.mkdir()
        (folder / "rules.yaml").write_text(text, "utf-8")
        link = self.rig.folder / "link.new"
        link.symlink_to(folder / "rules.yaml")
        link.replace(self.rig.path)

    def half_written(self, text: str) -> None:
        """In place and in pieces; whoever reads in between sees no whole version."""
        self.rig.path.unlink(missing_ok=True)  # else it would be written through a link
        cut = self.rng.randrange(text.index("rules: [") + len("rules: ["), len(text) - 2)
        with self.rig.path.open("w") as file:
            file.write(text[:cut])
            file.flush()
            if self.rng.random() < 0.5:
                file.write(text[cut:])

    def broken(self, text: str) -> None:
        self.whole.discard(self.version)
        self.renamed(text.replace("from: code", "from: nobody"))

    def gone(self, _: str) -> None:
        self.whole.discard(self.version)
        self.rig.path.unlink(missing_ok=True)

    async def settle(self, router: RouterProcess) -> None:
        """A last whole version takes effect, whatever came before."""
        self.renamed(self.next())
        router.signal(signal.SIGHUP)
        wanted = f'"a{self.version}"'
        deadline = time.monotonic() + 20
        while wanted not in router.log.read_text("utf-8"):
            if time.monotonic() > deadline:
                self.tally.problems.append("the last version never took effect")
                return
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.2)

    def read_log(self, router: RouterProcess) -> None:
        for line in router.log.read_text("utf-8").splitlines():
            event = json.loads(line)["event"]
            self.tally.reloads += event.startswith("reloaded")
            self.tally.failed += event.startswith("reload failed")

    def judge(self, acked: set[str]) -> None:
        """Each delivery's rules are those of one whole version."""
        found: dict[str, set[str]] = defaultdict(set)
        db = sqlite3.connect(self.rig.store)
        for delivery, rule in db.execute(
            "SELECT d.id, j.rule FROM deliveries d LEFT JOIN jobs j "
            "ON j.n BETWEEN d.n << 20 AND (d.n << 20) + 1048575"
        ):
            found[delivery].add(rule)
        db.close()
        self.tally.problems += [f"{d} was acknowledged and is not there" for d in acked - {*found}]
        pairs = {frozenset({f"a{n}", f"b{n}"}) for n in self.whole}
        seen = {frozenset(names) for names in found.values()}
        self.tally.versions = len(seen)
        self.tally.problems += [f"jobs of {sorted(map(str, names))}" for names in seen - pairs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tally = asyncio.run(Races(Path(folder), random.Random(given.seed)).run(given.races))
    print(tally)  # noqa: T201 - a command's answer
    for problem in tally.problems[:20]:
        print(problem)  # noqa: T201
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
