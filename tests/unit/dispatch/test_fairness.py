"""Whose turn it is: endpoints one after another, the newest beside the backlog."""

from router.dispatch.fairness import BEHIND_MS, FRESH_MS, KEPT, Fairness


def _put(fresh: Fairness, endpoint: str, count: int, due_at: int = 0) -> None:
    for n in range(count):
        fresh.put("erp", endpoint, f"{endpoint}{n}", due_at)


def test_endpoints_take_turns_whatever_each_has() -> None:
    fresh = Fairness()
    _put(fresh, "a", 100)
    _put(fresh, "b", 2)
    _put(fresh, "c", 1)
    assert fresh.pick("erp", 6, 0) == ["a0", "b0", "c0", "a1", "b1", "a2"]
    assert fresh.pick("erp", 1, 0) == ["a3"]


def test_turns_go_on_where_they_ended() -> None:
    fresh = Fairness()
    _put(fresh, "a", 100)
    _put(fresh, "b", 100)
    assert [fresh.pick("erp", 1, 0)[0] for _ in range(4)] == ["a0", "b0", "a1", "b1"]


def test_what_is_not_due_waits_and_holds_up_nobody() -> None:
    fresh = Fairness()
    _put(fresh, "a", 1, due_at=50)
    _put(fresh, "b", 3)
    fresh.put("erp", "a", "late", 0)
    assert fresh.pick("erp", 9, 10) == ["late", "b0", "b1", "b2"]
    assert fresh.pick("erp", 9, 50) == ["a0"]
    assert fresh.pick("erp", 9, 50) == []


def test_of_a_flood_the_newest_are_kept() -> None:
    fresh = Fairness()
    _put(fresh, "a", KEPT + 10)
    picked = fresh.pick("erp", 10_000, 0)
    assert (len(picked), picked[0]) == (KEPT, "a10")


def test_what_runs_already_is_not_named() -> None:
    fresh = Fairness()
    _put(fresh, "a", 2)
    assert not fresh.left("erp", 0, BEHIND_MS)
    fresh.taken("erp", "a", "a0")
    fresh.taken("erp", "z", "z0")
    assert fresh.pick("erp", 2, 0) == ["a1"]
    _put(fresh, "a", 2)
    assert fresh.left("erp", None, BEHIND_MS)
    assert fresh.pick("erp", 2, 0) == []


def test_what_has_waited_for_long_is_backlog() -> None:
    fresh = Fairness()
    _put(fresh, "a", 3, due_at=0)
    fresh.put("erp", "a", "new", FRESH_MS)
    assert fresh.pick("erp", 9, FRESH_MS + 1) == ["new"]


def test_only_who_is_behind_is_shared_out_and_three_quarters_of_it() -> None:
    turns = Fairness()
    _put(turns, "a", 100)
    assert turns.named({"erp": 8}, 0) == {}
    assert not turns.left("erp", 1_000, 1_000 + BEHIND_MS - 1)
    assert not turns.waits("erp")
    assert not turns.left("erp", 1_000, 1_000 + BEHIND_MS)
    assert turns.waits("erp")
    assert len(turns.named({"erp": 8}, 2_000)["erp"]) == 6
    single = [len(turns.named({"erp": 1}, 2_000)["erp"]) for _ in range(12)]
    assert sum(single) == 9
    assert turns.left("erp", None, 2_000)
    assert not turns.waits("erp")
