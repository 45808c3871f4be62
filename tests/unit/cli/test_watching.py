"""What `addresses`, `show` and `explain` say of silence and of another API version."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from router.cli.output import timestamp
from router.clock import SystemClock
from router.legible import exact
from router.store.sqlite.store import open_store
from router.store.values import Acceptance
from tests.builders import a_delivery, an_event
from tests.unit.cli.conftest import SMALL, Router

DLV = "dlv_01ABCDEFGH0123456789ABCDEF"
HOUR = 3_600_000


@pytest.fixture
def watched(rules: Path) -> Path:
    shop = "provider: shopify, secrets: shop"
    rules.write_text(SMALL.replace(shop, f"{shop}, expect_every: 6h, api_version: 2024-01"))
    return rules


async def fill(rules: Path, received_at: int, since: int | None = None) -> None:
    store = await open_store(str(rules.parent / "router.db"), clock=SystemClock())
    delivery = a_delivery(
        id=DLV, provider="commerce", received_at=received_at, flags=("api_version", "no_id")
    )
    if received_at:
        await store.accept(Acceptance(delivery, (an_event(),), ()))
    if since is not None:
        await store.remember({"silence/shop": {"since": since, "told": False}})
    await store.close()


def received(router: Router, rules: Path) -> tuple[str, object, object]:
    """The table's first row, and what JSON says."""
    plain = router("addresses", "-f", rules)
    row = json.loads(router("addresses", "-f", rules, "--json").out)[0]
    assert plain.code == 0
    return plain.out.splitlines()[1], row["last_received"], row["silent"]


def test_nothing_is_known_without_a_store(router: Router, watched: Path) -> None:
    row, last, silent = received(router, watched)
    assert (row.endswith("never"), last, silent) == (True, None, False)
    columns = router("addresses", "-f", watched).out.splitlines()[0]
    assert columns.endswith("LAST RECEIVED")


@pytest.mark.parametrize(("hours", "silent"), [(1, False), (7, True)])
def test_the_last_delivery_says_whether_it_is_silent(
    router: Router, watched: Path, hours: int, silent: bool
) -> None:
    at = time.time_ns() // 1_000_000 - hours * HOUR
    asyncio.run(fill(watched, at))
    row, last, is_silent = received(router, watched)
    assert row.endswith(timestamp(at) + (", SILENT" if silent else ""))
    assert (last, is_silent) == (exact(at), silent)


@pytest.mark.parametrize(("hours", "silent"), [(1, False), (7, True)])
def test_who_never_received_anything_is_silent_in_time(
    router: Router, watched: Path, hours: int, silent: bool
) -> None:
    asyncio.run(fill(watched, 0, since=time.time_ns() // 1_000_000 - hours * HOUR))
    row, last, is_silent = received(router, watched)
    assert (last, is_silent) == (None, silent)
    assert row.endswith("never, SILENT" if silent else "never")


def test_flags_are_reported_in_words(router: Router, watched: Path) -> None:
    asyncio.run(fill(watched, 1_750_000_000_000))
    words = (
        "flags     api_version: made by another API version than the endpoint expects; "
        "no_id: the sender's id is missing\n"
    )
    assert words in router("show", "-f", watched, DLV).out
    assert words in router("explain", "-f", watched, DLV).out
