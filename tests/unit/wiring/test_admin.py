"""The admin listener's parts: who may come in, numbers of the store, masks, what it waits for."""

import stat
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from router import log
from router.errors import StoreUnavailable, UsageError
from router.metrics import Metrics
from router.model.settings import AdminToken, ServerSettings
from router.model.store_address import SqliteFile
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.web.admin.callers import ANYONE, Caller, WrongToken
from router.wiring.admin import MetricsPage, callers, masked, own_token
from tests.builders import a_ruleset
from tests.clocks import START_MS, ManualClock

TOKENS = (AdminToken("ann", "ann", "viewer", False), AdminToken("old", "old", "operator"))
OWN = "own-own-own-own-own"
VALUES = {"ann": b"ann-ann-ann-ann-ann", "old": b"old-old-old-old-old"}


def live_of(folder: Path, admin: str, tokens: tuple[AdminToken, ...] = TOKENS) -> LiveRef:
    server = ServerSettings(
        admin=admin, store=SqliteFile(str(folder / "router.db")), admin_tokens=tokens
    )
    secrets = SecretValues(VALUES, {"old": START_MS})
    return LiveRef(LiveRuleset(a_ruleset(server=server), secrets))


async def test_the_token_of_the_file_and_those_that_are_named(tmp_path: Path) -> None:
    known = callers(live_of(tmp_path, "127.0.0.1:8001"), OWN, dev=False, clock=ManualClock())
    assert await known.of(OWN.encode(), "::1") == Caller("token", "admin")
    assert await known.of(VALUES["ann"], "::1") == Caller("ann", "viewer", bodies=False)
    with pytest.raises(WrongToken):
        await known.of(VALUES["old"], "::1")


async def test_a_reload_changes_who_may_come_in(tmp_path: Path) -> None:
    live = live_of(tmp_path, "127.0.0.1:8001")
    known = callers(live, OWN, dev=False, clock=ManualClock())
    live.swap(live_of(tmp_path, "127.0.0.1:8001", ()).current)
    with pytest.raises(WrongToken):
        await known.of(VALUES["ann"], "::1")


async def test_for_development_none_is_asked_for_but_only_on_this_machine(tmp_path: Path) -> None:
    known = callers(live_of(tmp_path, "127.0.0.1:8001"), OWN, dev=True, clock=ManualClock())
    assert await known.of(b"", "::1") is ANYONE
    assert not known.required
    exposed = live_of(tmp_path, "0.0.0.0:8001")
    assert callers(exposed, OWN, dev=True, clock=ManualClock()).required


@pytest.mark.parametrize("dev", [True, False])
async def test_beyond_this_machine_each_call_needs_one(tmp_path: Path, dev: bool) -> None:
    """Also where the rules file names none: there is the one beside the store."""
    known = callers(live_of(tmp_path, "0.0.0.0:8001", ()), OWN, dev=dev, clock=ManualClock())
    with pytest.raises(WrongToken):
        await known.of(b"", "172.17.0.1")
    assert await known.of(OWN.encode(), "172.17.0.1") == Caller("token", "admin")


def test_an_empty_token_file_is_filled_for_its_owner_alone(tmp_path: Path) -> None:
    """A router that ended too early left it."""
    file = tmp_path / "router.db.token"
    file.touch(0o644)
    assert own_token(tmp_path / "router.db", lambda: "new") == "new"
    assert (file.read_text("ascii"), stat.S_IMODE(file.stat().st_mode)) == ("new\n", 0o600)


def test_a_folder_that_is_not_there_is_said_with_the_setting_that_names_one(
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match=r"none/router\.token: No such file.*server\.state_dir"):
        own_token(tmp_path / "none" / "router")


def is_waited_for(file: Path) -> bool:
    """Whether somebody waits for a lock on it."""
    lines = Path("/proc/locks").read_text("ascii").splitlines()
    return any("->" in line and f":{file.stat().st_ino} " in line for line in lines)


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs /proc/locks")
def test_routers_that_start_together_have_one(tmp_path: Path) -> None:
    """Each would make its own; the second waits until the first has written."""
    others: list[str] = []

    def made() -> str:
        second.start()
        while not (others or is_waited_for(tmp_path / "r.token")):
            pass
        return "first"

    second = threading.Thread(target=lambda: others.append(own_token(tmp_path / "r", lambda: "2")))
    assert own_token(tmp_path / "r", made) == "first"
    second.join()
    assert others == ["first"]


def test_answers_are_masked_and_stay_json() -> None:
    secret = "canary-canary-canary"
    log.REDACTOR.register([secret])
    body = msgspec.json.encode({"text": f'"{secret}"\n', secret: 7, "n": [1, None]})
    assert msgspec.json.decode(masked(body)) == {"text": '"***"\n', "***": 7, "n": [1, None]}
    plain = b'{"a": 1}'
    assert masked(plain) is plain


class Store:
    def __init__(self) -> None:
        self.asked = 0
        self.fault = False

    async def open_states(self) -> Mapping[str, int]:
        self.asked += 1
        if self.fault:
            raise StoreUnavailable("disk")
        return {"waiting": 3, "dead": 1}

    async def targets(self) -> Mapping[str, int]:
        return {"erp": START_MS - 4_000, "chat": START_MS + 9_000}


async def test_what_the_store_knows_is_asked_for_now_and_then() -> None:
    store, metrics, clock = Store(), Metrics(), ManualClock()
    why: list[str | None] = [None]

    async def unready() -> str | None:
        return why[0]

    numbers = MetricsPage(metrics, store, unready, clock)  # type: ignore[arg-type] # it stands in
    for _ in range(5):
        await numbers.render()
    assert store.asked == 1
    assert metrics.value("router_jobs_standing", state="waiting") == 3
    assert metrics.value("router_jobs_standing", state="running") == 0
    assert metrics.value("router_lag_seconds") == 4
    assert metrics.value("router_ready") == 1
    await clock.advance(1)
    store.fault, why[0] = True, "the disk is full"
    assert b"router_lag_seconds 4.0" in await numbers.render()
    assert metrics.value("router_ready") == 0
    assert store.asked == 2


@pytest.mark.long
def test_a_server_starts_without_litestar() -> None:
    """It takes half a second to import and build; the public listener does not wait for it."""
    look = "import sys, router.wiring.launch; print('litestar' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", look], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == "False\n"
