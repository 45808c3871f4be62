"""The store of the real process: backed up under load, restored, pruned; nothing is lost."""

import asyncio
import contextlib
import json
import time
from pathlib import Path

import pytest

from tests import ledger
from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import Rig
from tests.acceptance.senders import code, environ
from tests.acceptance.test_operate import called
from tests.faults.kill import RULES, Client

pytestmark = pytest.mark.long

CONNECTIONS = 4
ROUNDS = 3
LOAD_S = 0.3


async def backed_up(rig: Rig, client: Client, copy: Path) -> set[str]:
    """Make a backup while deliveries come; what was acknowledged before it was asked for."""
    before = set(client.acked)
    answer = await asyncio.to_thread(called, rig, "store", "backup", str(copy))
    assert answer[0] == 0, answer
    return before


async def test_backups_under_load_hold_every_delivery_acknowledged_before(tmp_path: Path) -> None:
    """And each of them, restored, is served from; ingest goes on meanwhile without a refusal."""
    rig = Rig(tmp_path / "router", RULES, environ())
    copies: dict[Path, set[str]] = {}
    with rig.router() as router:
        client = Client(rig.listen, code(), time.time_ns() // 1_000_000)
        sending = [asyncio.create_task(client.keep_sending()) for _ in range(CONNECTIONS)]
        for number in range(ROUNDS):
            await asyncio.sleep(LOAD_S)
            copy = tmp_path / f"copy{number}.db"
            copies[copy] = await backed_up(rig, client, copy)
        for task in sending:
            task.cancel()
        await asyncio.gather(*sending, return_exceptions=True)
        assert client.refused == []
        assert router.stop() == 0, router.output()
    digests = dict(client.acked)
    for copy, before in copies.items():
        assert before
        code_, out, err = called(rig, "store", "restore", str(copy), "--yes")
        assert (code_, "checked" in out) == (0, True), err
        with contextlib.closing(ledger.connect(rig.store, mend=True)) as db:
            found = ledger.stored(db)
            assert ledger.corruption(db) == []
        assert before <= {*found}
        assert {i: digests[i] for i in before} == {i: found[i] for i in before}
    with rig.router() as router:
        router.until(lambda: ledger.counts(rig.store).succeeded > 0, "jobs of the restored store")
        assert called(rig, "store", "prune", "--older-than", "0s")[0] == 0
        assert router.stop() == 0


def test_the_audit_tells_of_a_backup_beside_a_server(make_rig: MakeRig, tmp_path: Path) -> None:
    rig = make_rig("rules: [{id: all, from: shop, actions: {log: x}}]\n")
    with rig.router() as router:
        assert called(rig, "store", "backup", str(tmp_path / "copy.db"))[0] == 0
        code_, out, err = called(rig, "audit", "--json")
        assert (code_, err) == (0, "")
        (line,) = json.loads(out)
        assert router.stop() == 0
    assert (line["who"], line["verb"], line["peer"]) == ("token", "backup", "127.0.0.1")
    assert line["asked"]["path"] == str(tmp_path / "copy.db")


def test_a_server_prunes_on_request(make_rig: MakeRig, send: Send) -> None:
    rig = make_rig("rules:\n  - {id: all, from: all, actions: {log: hi}}\n")
    with rig.router() as router:
        for number in range(5):
            send(rig, code(), number)
        router.until(lambda: ledger.counts(rig.store).succeeded == 5, "five jobs")
        kept = called(rig, "store", "prune")
        assert kept[:2] == (0, "0 deliveries and 0 expired keys removed\n"), kept
        gone = called(rig, "store", "prune", "--older-than", "0s")
        assert gone[:2] == (0, "5 deliveries and 0 expired keys removed\n"), gone
        refused = called(rig, "store", "restore", str(rig.store), "--yes")
        assert refused[0] == 2
    assert ledger.counts(rig.store).deliveries == 0
