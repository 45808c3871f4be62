"""Selectors as SQL: one reading of them for lists and for the operator's verbs."""

from typing import Any

from router.errors import UsageError
from router.model.operations import Change
from router.store.common.columns import MARK
from router.store.common.states import DEAD, DELIVERY_STATE, RUNNING, TURN_HALTED
from router.store.sqlite.damage import CORRUPT
from router.store.sqlite.fragments import JOBS_OF, PLACE_BITS, PLACES, state_is
from router.store.values import Selector

SHORTEST_PREFIX = 4
PAGE = 50
"""Rows of a list whose selector sets no limit."""

_TOP = "\U0010ffff"
_DEAD = state_is("dead", "j.")
_LEGIBLE = f"{_DEAD} AND j.reason IS NOT '{CORRUPT}'"
NEWER = (
    f"FROM jobs newer WHERE newer.n > j.n AND newer.n <= j.n | {PLACES - 1} "
    "AND newer.event_index = j.event_index AND newer.rule = j.rule AND newer.action = j.action "
    "AND newer.replay_of IS NOT NULL"
)
"""Runs of the same that replays have made since."""
_EARLIEST = "min(j.created_at, d.received_at)"

Condition = tuple[str, list[Any]]


def prefix_range(prefix: str, kind: str) -> tuple[str, str] | None:
    """
    The ids a prefix may mean, as a closed range; None: too short to mean any.

    A whole id is always long enough to be tried as itself: see `exact`.
    """
    full = prefix if prefix.startswith(f"{kind}_") else f"{kind}_{prefix}"
    if len(full) < len(kind) + 1 + SHORTEST_PREFIX:
        return None
    return full, full + _TOP


def deliveries(selector: Selector) -> Condition:
    """The condition on `d` that a selector puts on deliveries."""
    _refuse_where(selector)
    named = None if selector.event is None else f"{MARK}{selector.event}{MARK}"
    parts = [
        _given("d.received_at >= ?", selector.since),
        _given("d.received_at < ?", selector.until),
        _given("d.endpoint = ?", selector.endpoint),
        _given("d.id < ?", selector.before),
        _any_of([_delivery_id(one) for one in selector.ids]),
        _given("d.state = ?", DELIVERY_STATE.get(selector.state or "")),
        _given("instr(d.names, ?) > 0", named),
    ]
    state = None if selector.state in DELIVERY_STATE else selector.state
    sql, values = all_of(_of_jobs(selector, state))
    if sql != "1":
        parts.append((f"EXISTS (SELECT 1 FROM jobs j WHERE {JOBS_OF} AND {sql})", values))
    return all_of(parts)


def jobs(selector: Selector, *, whole: bool = False) -> Condition:
    """
    The condition on `j` and its delivery `d` that a selector puts on jobs; `whole`: see the page
    of a store.
    """
    _refuse_where(selector)
    return all_of(
        [
            _given("j.created_at >= ?", selector.since),
            _given(f"{_EARLIEST if whole else 'j.created_at'} < ?", selector.until),
            _given("j.id < ?", selector.before),
            _given("d.endpoint = ?", selector.endpoint),
            _given("j.event = ?", selector.event),
            _any_of([_job_id(one) for one in selector.ids]),
            *_of_jobs(selector, selector.state),
        ]
    )


def _of_jobs(selector: Selector, state: str | None) -> list[Condition]:
    """What a selector says of jobs, whether they are listed or their deliveries."""
    return [
        _given("j.rule = ?", selector.rule),
        _given("j.replay = (SELECT n FROM replays WHERE id = ?)", selector.replay),
        _given(f"{_DEAD} AND cause_of(j.rule, j.action, j.target, j.reason) = ?", selector.cause),
        ("1", []) if state is None else (state_is(state, "j."), []),
    ]


def changeable(selector: Selector, change: Change) -> Condition:
    """The condition on `j` that it can be changed so; see the verbs of a store."""
    if change == "revive":
        named, values = _named(selector)
        return f"{_LEGIBLE} AND (NOT EXISTS (SELECT 1 {NEWER}) OR {named})", values
    if selector.ids or selector.state == "dead":  # chosen by somebody who knows what they halt
        halts = f"j.state = {DEAD} AND j.run IN (SELECT n FROM runs WHERE turn = {TURN_HALTED})"
        return f"(j.state < {RUNNING} OR {halts})", []
    return f"j.state < {RUNNING}", []


def made_again(selector: Selector) -> Condition:
    """The condition on `j` that `revive` passes over it: see `changeable`."""
    named, values = _named(selector)
    return f"{_LEGIBLE} AND EXISTS (SELECT 1 {NEWER}) AND NOT {named}", values


def _named(selector: Selector) -> Condition:
    """A job that is named by its own id is meant, whatever was made of it."""
    if selector.state is not None:
        return "0", []
    jobs = [_job_id(one) for one in selector.ids if one.startswith("job_")]
    return _any_of(jobs) if jobs else ("0", [])


def _refuse_where(selector: Selector) -> None:
    """No SQL knows it; leaving it out would select more than was meant."""
    if selector.where is not None:
        raise UsageError("the store does not evaluate expressions")


def _delivery_id(prefix: str) -> Condition:
    if prefix.startswith("job_"):
        sql, values = id_matches("id", prefix, "job")
        return f"d.n IN (SELECT n >> {PLACE_BITS} FROM jobs WHERE {sql})", values
    return id_matches("d.id", prefix, "dlv")


def _job_id(prefix: str) -> Condition:
    by_delivery = id_matches("d.id", prefix, "dlv")
    if prefix.startswith("dlv_"):
        return by_delivery
    by_job = id_matches("j.id", prefix, "job")
    return by_job if prefix.startswith("job_") else _any_of([by_job, by_delivery])


def id_matches(column: str, prefix: str, kind: str) -> Condition:
    """The condition that an id is this text, or begins with it if it is long enough."""
    if (found := prefix_range(prefix, kind)) is None:
        return f"{column} = ?", [prefix]
    return f"({column} = ? OR ({column} >= ? AND {column} < ?))", [prefix, *found]


def _given(sql: str, value: str | int | None) -> Condition:
    """The condition on a value that a selector may leave open."""
    return ("1", []) if value is None else (sql, [value])


def all_of(parts: list[Condition]) -> Condition:
    """The condition that all of these hold."""
    used = [part for part in parts if part[0] != "1"]
    return " AND ".join(sql for sql, _ in used) or "1", [v for _, values in used for v in values]


def _any_of(parts: list[Condition]) -> Condition:
    if not parts:
        return "1", []
    sql = " OR ".join(f"({sql})" for sql, _ in parts)
    return f"({sql})", [v for _, values in parts for v in values]
