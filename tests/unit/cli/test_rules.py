"""`rules` tells what was counted: what never matches, always errs, or would match."""

import asyncio
import json
from pathlib import Path

import pytest

from router.clock import SystemClock
from router.model.settings import DAY_MS
from router.store.sqlite.store import open_store
from router.store.values import RuleCount
from tests.unit.cli.conftest import SMALL, Router

MORE = SMALL + "  - {id: new, from: shop, mode: shadow, actions: {log: x}}\n"


async def fill(store: Path, *counts: RuleCount) -> None:
    ledger = await open_store(str(store), clock=SystemClock())
    await ledger.count_rules(counts)
    await ledger.close()


@pytest.fixture
def counted(rules: Path) -> Path:
    """Four rules and what was counted of them."""
    rules.write_text(MORE, "utf-8")
    now = SystemClock().now()
    old = now - 40 * DAY_MS
    counts = (
        RuleCount("paid", 9, 7, 0, 0, old, old),
        RuleCount("pushes", 5, 0, 5, 0, now),
        RuleCount("bounces", 5, 0, 4, 0, now),
        RuleCount("new", 4, 0, 0, 3, old, now),
    )
    asyncio.run(fill(rules.parent / "router.db", *counts))
    return rules


def test_what_was_counted_is_shown_with_a_word_where_it_is_odd(
    router: Router, counted: Path
) -> None:
    rows = {r["rule"]: r for r in json.loads(router("rules", "-f", counted, "--json").out)}
    assert {name: row["note"] for name, row in rows.items()} == {
        "paid": "has not matched in 30 days",
        "pushes": "always errors: `router explain` says why",
        "bounces": None,
        "new": "shadow: would have matched 3",
    }
    assert rows["paid"]["counted"]["evaluated"] == 9
    assert rows["new"]["counted"]["shadowed"] == 3


def test_the_table_has_the_counts(router: Router, counted: Path) -> None:
    header, first, *_ = router("rules", "-f", counted).out.splitlines()
    assert header.split()[6:] == ["ASKED", "MATCHED", "ERRORS", "LAST", "MATCHED", "NOTE"]
    assert first.split()[6:9] == ["9", "7", "0"]
    assert first.endswith("has not matched in 30 days")


def test_a_rule_that_was_never_asked_never_matched(router: Router, rules: Path) -> None:
    """The server notes every rule when it first sees it."""
    old = SystemClock().now() - 31 * DAY_MS
    asyncio.run(fill(rules.parent / "router.db", RuleCount("paid", 0, 0, 0, 0, old)))
    [first, *_] = json.loads(router("rules", "-f", rules, "--json").out)
    assert first["note"] == "never matched in 30 days"


def test_of_what_nothing_is_counted_nothing_is_said(router: Router, rules: Path) -> None:
    asyncio.run(fill(rules.parent / "router.db", RuleCount("paid", 0, 0, 0, 0, 0)))
    [_, second, _] = json.loads(router("rules", "-f", rules, "--json").out)
    assert (second["counted"], second["note"]) == (None, None)
