"""What befalls a router in a soak: deaths, reloads, prunes, backups, looks, listeners."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from tests.acceptance.process import Rig, called
from tests.soak.judge import Expected

EVERY_S: Mapping[str, float] = {
    "reload": 20.0,
    "prune": 30.0,
    "look": 45.0,
    "backup": 60.0,
    "listen": 10.0,
}
WRONG = 4
"""Each of so many rules files is wrong."""
STOP_S = 40.0


class WentWrong(Exception):
    """A command or a call failed while the router lived."""


@dataclass
class Site:
    """
    The router, one process after the other. `lives` counts them, `born` is when this one was
    ready; `did` counts what befell it.
    """

    rig: Rig
    expected: Expected
    clock: Callable[[], float]
    backs_up: bool
    lives: int = 0
    born: float = 0.0
    up: bool = False
    did: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rules = self.rig.rules
        self.router = self.rig.router()
        self._versions = itertools.count(1)

    async def start(self) -> None:
        """
        A new process, with rules that are right; it is ready then.

        Raises:
            RouterDied, TookTooLong: it is not.
        """
        self.rig.write(self.rules)
        self.router = self.rig.router()
        await asyncio.to_thread(self.router.start)
        self.lives += 1
        self.born, self.up = self.clock(), True

    async def die(self) -> None:
        """By turns killed and told to stop; the next one is ready then."""
        await (self.stop() if self.lives % 2 else self.killed())
        await self.start()

    async def killed(self) -> None:
        self.up = False
        self.expected.deaths.append(self.clock())
        await asyncio.to_thread(self.router.kill)
        self.did["kills"] += 1

    async def stop(self) -> None:
        """SIGTERM, and its end is looked at."""
        self.up = False
        self.expected.deaths.append(self.clock())
        if (status := await asyncio.to_thread(self.router.stop, within=STOP_S)) != 0:
            self.problems.append(f"SIGTERM: exit status {status}: {self.router.output()[-500:]}")
        self.did["stops"] += 1

    # -- what goes on while it lives ---------------------------------------------------------------

    @asynccontextmanager
    async def befallen(self) -> AsyncIterator[None]:
        """All but deaths, again and again, until the block ends."""
        verbs: dict[str, Callable[[], Awaitable[object]]] = {
            "reload": self.reload,
            "prune": self.prune,
            "look": lambda: self._command("store", "info"),
            "listen": lambda: self.listen(EVERY_S["listen"] / 2),
        }
        if self.backs_up:
            verbs["backup"] = self.backup
        tasks = [asyncio.create_task(self._again(name, verb)) for name, verb in verbs.items()]
        tasks.append(asyncio.create_task(self._listening()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _again(self, name: str, verb: Callable[[], Awaitable[object]]) -> None:
        while True:
            await asyncio.sleep(EVERY_S[name])  # the load's pace
            if self.up:
                await self._done(name, verb)

    async def _done(self, name: str, verb: Callable[[], Awaitable[object]]) -> None:
        """Once; what fails because the router died meanwhile is no fault."""
        life = self.lives
        try:
            await verb()
        except (OSError, httpx.HTTPError, WentWrong) as error:
            if self.up and self.lives == life:
                self.problems.append(f"{name}: {error!r}"[:300])
        else:
            self.did[f"{name}s"] += 1

    async def reload(self) -> None:
        """Another rules file, now and then a wrong one, which is noticed by itself."""
        version = next(self._versions)
        text = self.rules + f"# version {version}\n"
        self.rig.write(text.replace("from: shop", "from: nobody") if version % WRONG == 0 else text)

    async def prune(self) -> None:
        await self._post("/api/prune", {})

    async def resume(self, target: str) -> None:
        """A target is called again, although it failed lately."""
        await self._post("/api/resume", {"target": target})

    async def backup(self) -> None:
        await self._command("store", "backup", "--force", str(self.rig.folder / "copy.db"))

    async def listen(self, seconds: float = 1e9) -> None:
        """To the signal, for so long."""
        async with self._client() as client, client.stream("GET", "/api/signal") as answer:
            if answer.status_code != httpx.codes.OK:
                raise WentWrong(f"the signal answered {answer.status_code}")
            end = self.clock() + seconds
            async for _ in answer.aiter_raw():
                if self.clock() > end:
                    return

    async def _listening(self) -> None:
        """One listener that stays for as long as each router."""
        while True:
            if self.up:
                await self._done("long listen", self.listen)
            await asyncio.sleep(1)

    async def _post(self, path: str, body: Mapping[str, str]) -> None:
        async with self._client() as client:
            answer = await client.post(path, json=body)
            if answer.status_code != httpx.codes.OK:
                raise WentWrong(f"{path}: {answer.status_code} {answer.text[:200]}")

    async def _command(self, *words: str) -> None:
        """The store is named, for the rules file may be a wrong one."""
        store = self.rig.environ.get("ROUTER_STORE", f"sqlite:{self.rig.store}")
        status, _, said = await asyncio.to_thread(called, self.rig, *words, ROUTER_STORE=store)
        if status:
            raise WentWrong(f"{' '.join(words)}: exit status {status}: {said[-200:]}")

    def _client(self) -> httpx.AsyncClient:
        [token] = self.rig.folder.glob("*.token")
        bearer = {"authorization": f"Bearer {token.read_text('ascii').strip()}"}
        return httpx.AsyncClient(base_url=self.router.admin_url, headers=bearer, timeout=30)
