"""Selectors in the words of PostgreSQL's tables."""

from asyncio import to_thread

from router.errors import UsageError
from router.model.ids import DIGITS, earliest
from router.model.settings import DAY_MS
from router.store.common.death_causes import key_of
from router.store.common.selection import (
    NONE,
    Condition,
    Selection,
    all_of,
    full_prefix,
    given,
)
from router.store.common.states import DEAD, RUNNING, STATES
from router.store.postgres.database import Tx
from router.store.postgres.ids import ULID_LENGTH
from router.store.postgres.texts import escape, unescape
from router.store.values import Selector

LOWEST, HIGHEST = "dlv_" + "0" * ULID_LENGTH, "dlv_7" + "Z" * (ULID_LENGTH - 1)
TIME_BITS = 48
"""Of an id: Unix milliseconds."""

Death = tuple[str, str, str, str]
"""Rule, action, target and reason of dead jobs."""


async def of(tx: Tx, selector: Selector) -> "PostgresSelection":
    """
    What this selector says now. No SQL knows causes: the deaths of the one that is asked for are
    looked up, of each that are alike one.
    """
    selected = PostgresSelection(selector)
    if selector.cause is not None:
        found = await deaths(tx)
        selected.deaths = await to_thread(_those_of, found, selector.cause)
    return selected


def _those_of(deaths: list[Death], cause: str) -> list[Death]:
    return [death for death in deaths if key_of(*death) == cause]


async def deaths(tx: Tx) -> list[Death]:
    """Those that dead jobs have died, of all that are alike one."""
    rows = await tx.all(
        f"SELECT DISTINCT rule, action, target, coalesce(reason, '') FROM jobs WHERE state = {DEAD}"
    )
    return [(rule, action, target, unescape(reason)) for rule, action, target, reason in rows]


class PostgresSelection(Selection):
    """What changes of an open job stands in `q` queue; ids are uuids."""

    named = "strpos(d.names, ?) > 0"
    earliest = "least(j.created_at, d.received_at)"
    of_delivery = "FROM jobs j LEFT JOIN queue q ON q.job = j.id WHERE j.delivery = d.id"
    delivered = "d.id IN (SELECT j.delivery FROM jobs j WHERE {})"
    delivery_id = "j.delivery"
    idle = f"q.state < {RUNNING}"
    halts = "j.run IN (SELECT id FROM runs WHERE turn = {})"
    newer = (
        "FROM jobs newer WHERE newer.delivery = j.delivery AND newer.id > j.id "
        "AND newer.event_index = j.event_index AND newer.rule = j.rule "
        "AND newer.action = j.action AND newer.replay_of IS NOT NULL"
    )

    def __init__(self, selector: Selector) -> None:
        super().__init__(selector)
        self.deaths: list[Death] = []

    def has_id(self, column: str, prefix: str, kind: str) -> Condition:
        return has_id(column, prefix, kind)

    def before(self, column: str) -> Condition:
        before = self.selector.before
        return given(f"{column} < ?", None if before is None else place(before))

    def within(self, table: str, column: str, since: int | None, until: int | None) -> Condition:
        """
        As the ids say too, nearly: who looks for rows of some days reads no others. A row may tell
        another time than its id does, so it is a day more.
        """
        first = given(f"{table}.id >= ?", None if since is None else lowest(since - DAY_MS))
        last = given(f"{table}.id < ?", None if until is None else lowest(until + DAY_MS))
        return all_of([first, last, super().within(table, column, since, until)])

    def is_in(self, state: str) -> str:
        if state not in STATES:
            return "FALSE"
        number = STATES.index(state)
        return f"q.state = {number}" if number <= RUNNING else f"j.state = {number}"

    def died_so(self) -> Condition:
        if not self.deaths:
            return NONE
        rule, action, target, _ = self.deaths[0]  # those of one cause have these alike
        died_so = "j.rule = ? AND j.action = ? AND j.target = ? AND coalesce(j.reason, '') = ANY(?)"
        reasons = [escape(reason) for _, _, _, reason in self.deaths]
        return f"{self.is_in('dead')} AND {died_so}", [rule, action, target, reasons]

    def text(self, text: str | None) -> str | None:
        return escape(text)


def lowest(at: int) -> str:
    """The lowest id of this time; ids know no other times than those of 48 bits."""
    return place(earliest("dlv", min(max(at, 0), (1 << TIME_BITS) - 1)))


def has_id(column: str, prefix: str, kind: str) -> Condition:
    """That an id is this text, or begins with it if it is long enough."""
    full = full_prefix(prefix, kind)
    if full is None or not _is_beginning(full[4:]):
        return NONE
    if len(full) == ULID_LENGTH + 4:
        return f"{column} = ?", [full]
    return f"{column} BETWEEN ? AND ?", [full.ljust(ULID_LENGTH + 4, c) for c in "0Z"]


def place(id_: str) -> str:
    """
    The lowest id that does not sort before this text, which begins as one does.

    Raises:
        UsageError: it does not.
    """
    if not _is_beginning(id_[4:]):
        raise UsageError(f"{id_} is no id to go on from; leave it out to start again")
    return id_.ljust(ULID_LENGTH + 4, "0")


def _is_beginning(digits: str) -> bool:
    """Whether an id of 128 bits may begin with these digits."""
    return len(digits) <= ULID_LENGTH and digits[:1] <= "7" and set(DIGITS).issuperset(digits)
