"""`router status`: where no server runs, and how it looks on a terminal."""

import asyncio
import json
from os import terminal_size
from pathlib import Path

import click
import pytest
from msgspec.structs import replace

from router.cli.output import timestamp
from router.cli.status import StatusText, bars
from router.model.activity import EVER, ActivityCount
from router.operator.node_rows import node_rows
from router.operator.overview_answer import Attention, Overview
from router.store.sqlite.store import open_store
from router.store.values import NodeCard, NodeSeen
from tests.builders import NOW
from tests.clocks import ManualClock
from tests.overviews import an_overview
from tests.store_values import Maker
from tests.unit.cli.conftest import Router

SMALL = terminal_size((80, 24))


def drawn(found: Overview, size: terminal_size = SMALL) -> list[str]:
    return click.unstyle("\n".join(StatusText(found, size, timestamp).lines())).splitlines()


async def _fill(path: Path) -> None:
    store = await open_store(str(path), clock=ManualClock())
    await store.accept(Maker().acceptance())
    await store.count_activity([ActivityCount(EVER, 0, "delivery", "shop", "", 1, most=1_000)])
    await store.close()


def test_the_store_tells_what_it_remembers_and_that_no_server_runs(
    router: Router, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(rules.parent)
    asyncio.run(_fill(rules.parent / "router.db"))
    ran = router("status")
    first, second, *_ = ran.out.splitlines()
    assert ran.code == 0
    assert first.startswith("! no server runs at 127.0.0.1:")
    assert first.endswith("`router serve`")
    assert second.startswith("! a job of the target erp has been due for ")
    assert "shop              0    0        0  1970-01-01T00:00:01Z" in ran.out
    assert router("status", "--check").code == 1


def test_as_json_its_times_are_rfc_3339(
    router: Router, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(rules.parent)
    found = json.loads(router("status", "--json").out)
    assert found["attention"][0]["kind"] == "server"
    assert found["hour"]["begins_at"].endswith(":00.000Z")
    assert (len(found["hour"]["failed"]), len(found["day"]["failed"])) == (60, 96)
    assert found["waiting"] == {
        "states": {"available": 0, "waiting": 0, "retryable": 0, "running": 0},
        "due_at": None,
        "target": None,
    }


@pytest.mark.parametrize("lines", [24, 40])
def test_it_fits_the_terminal_whatever_there_is(lines: int) -> None:
    found = an_overview()
    many = replace(
        found,
        attention=(Attention("target", "the target " + "long " * 30, "router targets"),) * 30,
        endpoints=tuple(replace(found.endpoints[0], name=f"shop-{n}" * 9) for n in range(60)),
        targets=tuple(replace(found.targets[0], name=f"erp-{n}") for n in range(60)),
    )
    shown = drawn(many, terminal_size((80, lines)))
    assert max(map(len, shown)) <= 80
    assert lines - 3 <= len(shown) < lines, "the prompt has a line too"
    assert shown[2] == "! 28 more: `router status --json` has all of them"


def test_where_all_is_well_it_says_so() -> None:
    assert drawn(replace(an_overview(), attention=()))[0] == "nothing needs attention"


def test_why_requests_were_refused_is_said_where_any_were() -> None:
    found = an_overview()
    assert "refused    4 bad_signature at code in 24 hours" in drawn(found)
    none = replace(found, refusals=())
    assert not [line for line in drawn(none) if line.endswith("in 24 hours")]


def test_what_could_steer_a_terminal_is_written_out() -> None:
    found = an_overview()
    target = replace(found.targets[0], name="erp\x1b[2J")
    shown = drawn(replace(found, targets=(target,), attention=()))
    assert any(line.startswith("erp\\x1b[2J") for line in shown)


def test_one_of_many_is_seen_as_a_bar_and_nothing_is_none() -> None:
    assert bars((0, 0, 1, 999, 500, 500), 3) == "▁██"
    assert bars((0, 1, 0, 999), 4) == "▁▂▁█"
    assert bars((0, 0), 2) == "▁▁"


def test_nodes_that_are_there_are_counted_where_there_are_several() -> None:
    assert not [line for line in drawn(an_overview()) if line.startswith("nodes")]
    seen = [
        NodeSeen("1", NodeCard("a", "1", "g"), 1, NOW),
        NodeSeen("2", NodeCard("b", "1", "g", unready="it is stopping"), 1, NOW),
        NodeSeen("3", NodeCard("c", "1", "g"), 1, NOW, gone=True),
    ]
    shown = drawn(replace(an_overview(), nodes=node_rows(seen, {}, NOW)))
    assert shown[-1] == "nodes      1 of 2 ready"
