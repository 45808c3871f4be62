"""Selectors in the words of SQLite's tables."""

from router.store.common.selection import Condition, Selection, full_prefix, given
from router.store.common.states import RUNNING
from router.store.sqlite.fragments import JOBS_OF, PLACE_BITS, PLACES, state_is

_TOP = "\U0010ffff"


def has_id(column: str, prefix: str, kind: str) -> Condition:
    """That an id is this text, or begins with it if it is long enough."""
    if (full := full_prefix(prefix, kind)) is None:
        return f"{column} = ?", [prefix]
    return f"({column} = ? OR ({column} >= ? AND {column} < ?))", [prefix, full, full + _TOP]


class SqliteSelection(Selection):
    """Jobs lie by number behind their delivery's; ids are text."""

    named = "instr(d.names, ?) > 0"
    earliest = "min(j.created_at, d.received_at)"
    of_delivery = f"FROM jobs j WHERE {JOBS_OF}"
    delivered = f"d.n IN (SELECT j.n >> {PLACE_BITS} FROM jobs j WHERE {{}})"
    delivery_id = "d.id"
    idle = f"j.state < {RUNNING}"
    halts = "j.run IN (SELECT n FROM runs WHERE turn = {})"
    newer = (
        f"FROM jobs newer WHERE newer.n > j.n AND newer.n <= j.n | {PLACES - 1} "
        "AND newer.event_index = j.event_index AND newer.rule = j.rule "
        "AND newer.action = j.action AND newer.replay_of IS NOT NULL"
    )

    def has_id(self, column: str, prefix: str, kind: str) -> Condition:
        return has_id(column, prefix, kind)

    def before(self, column: str) -> Condition:
        return given(f"{column} < ?", self.selector.before)

    def is_in(self, state: str) -> str:
        return state_is(state, "j.")

    def died_so(self) -> Condition:
        died_so = "cause_of(j.rule, j.action, j.target, j.reason) = ?"
        return f"{self.is_in('dead')} AND {died_so}", [self.selector.cause]
