"""`router rules publish`: what is refused before anything is published. Routers: acceptance."""

import asyncio
from pathlib import Path

import pytest

from router.cli.publish import _compare_and_set
from router.errors import UsageError
from router.store.sqlite.store import open_store
from router.store.values import Publication
from tests.clocks import ManualClock
from tests.unit.cli.conftest import SMALL, Router


async def raced(path: Path) -> None:
    store = await open_store(str(path), clock=ManualClock())
    first = await store.publish("g1", by="one", at=1, after=0)
    await store.publish("g2", by="two", at=2, after=1)
    try:
        with pytest.raises(UsageError, match=r"two has published g2 .*--dry-run"):
            await _compare_and_set(store, Publication(0, "g3", "one", 3), first)
        assert await store.reads.audited(None, None, 9) == ()
        found = await store.reads.published()
        assert found
        assert (found.generation, found.seq) == ("g2", 2)
    finally:
        await store.close()


def test_who_is_too_late_is_told_by_whom_and_changes_nothing(tmp_path: Path) -> None:
    asyncio.run(raced(tmp_path / "router.db"))


def test_one_router_goes_by_its_file(router: Router, rules: Path) -> None:
    ran = router("rules", "publish", rules)
    assert ran.code == 2
    assert "PostgreSQL" in ran.err
    assert not [*rules.parent.glob("*.db")], "it was not even opened"


FAILS = """\
tests:
  - {name: nobody wants it, send: {endpoint: shop, event: orders/paid}, expect: {matched: []}}
"""


def test_a_file_whose_tests_fail_is_not_published(router: Router, rules: Path) -> None:
    rules.write_text(SMALL + FAILS)
    ran = router("rules", "publish", rules)
    assert ran.code == 2
    assert "1 of 1 tests failed, nothing was published" in ran.err
    assert "tests failed" not in router("rules", "publish", rules, "--no-tests").err
