"""Making deliveries durable: keys decide what is new, then delivery and jobs follow."""

from collections.abc import Iterable, Sequence

import msgspec

from router.model.job import Attempt, Job, NewJob
from router.store.common.claims import Claim, Receipt, claimed, judge, new_parts
from router.store.common.columns import decode_events, encode_events, encode_meta, encode_names
from router.store.common.run_changes import NewRun
from router.store.common.states import DELIVERY_STATE
from router.store.sqlite import runs
from router.store.sqlite.fragments import PLACE_BITS
from router.store.sqlite.rows import job_row
from router.store.sqlite.writer_state import ROWS, Book, Row
from router.store.values import Acceptance, Accepted, Died, Duplicate


class Anomaly(Exception):
    """Something in this batch is out of the ordinary: do its items one by one."""


Timed = tuple[Acceptance, int]
"""What is to be stored, and the ledger time at which that was asked for."""

Special = tuple[Sequence[NewJob], Sequence[Row]]
"""A delivery's jobs and their rows, some of which belong to runs or wait for a paused rule."""

JOB_ROW = (
    "jobs (n, id, state, due_at, target, rule, action, kind, event_index, event_id, event, "
    "created_at, generation, attempt, lease, started_at, replay_of, covers)"
)
_PAGE = 4096


def accept_all(book: Book, batch: Sequence[Timed]) -> list[Receipt]:
    """Store a batch within the open transaction; one receipt each, in order."""
    receipts = _claim(book, batch)
    new = _NewRows(book)
    special: list[tuple[int, Special]] = []
    for place, (acceptance, now) in enumerate(batch):
        receipt = receipts[place]
        if isinstance(receipt, Duplicate):
            _count_copy(book, acceptance, receipt)
        elif (rest := new.add(acceptance, receipt.new, now)) is not None:
            special.append((place, rest))
    new.insert()
    for place, (wanted, rows) in special:
        receipts[place] = _insert_special(book, receipts[place], wanted, rows, batch[place][1])
    return receipts


def accepted_before(book: Book, acceptance: Acceptance) -> Accepted | None:
    """The receipt of a delivery that is there already."""
    found = book.one("SELECT events FROM deliveries WHERE id = ?", (acceptance.delivery.id,))
    if found is None:
        return None
    new = frozenset([event.index for event in decode_events(found)])
    return Accepted(acceptance.delivery.id, None if len(new) == len(acceptance.events) else new)


def accept_of_dead(book: Book, ended: Iterable[tuple[Job, Attempt]], died: Died, now: int) -> None:
    """Accept what the router itself has to say of jobs that have been found dead."""
    owns = [(own, now) for job, end in ended if (own := died(job, end)) is not None]
    if owns:
        accept_all(book, owns)


class _NewRows:
    """
    The rows of a batch's new deliveries and of their jobs. What belongs to all of them is seen to
    once, by `insert`.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._deliveries: list[Row] = []
        self._jobs: list[Row] = []
        self._running: dict[str, int] = {}
        self._generations: set[int] = set()
        self._ruled: set[tuple[str, int]] = set()
        book.numbering()
        self._first = book.next_delivery

    def add(self, acceptance: Acceptance, new: frozenset[int] | None, now: int) -> Special | None:
        """A delivery's rows; jobs that are more than a row are returned instead."""
        book, delivery = self._book, acceptance.delivery
        events, wanted = new_parts(acceptance, new)
        number = book.next_delivery
        book.next_delivery = number + 1
        generation = book.generation(delivery.generation)
        self._generations.add(generation)
        self._deliveries.append(
            (
                number,
                delivery.id,
                delivery.endpoint,
                DELIVERY_STATE[delivery.state],
                delivery.received_at,
                generation,
                encode_names(events),
                encode_events(events, acceptance.keys_until),
                encode_meta(delivery),
                delivery.body,
            )
        )
        book.pages += 2 + len(wanted) + len(delivery.body) // _PAGE
        wall = book.wall(now)
        rows: list[Row] = []
        special = False
        for job_number, job in enumerate(wanted, number << PLACE_BITS):
            rows.append(job_row(job, job_number, generation, wall))
            self._ruled.add((job.rule, generation))
            if job.state == "running":
                self._running[job.id] = job_number
            if job.run is not None or job.state == "waiting":
                special = True
        if special:
            return wanted, rows
        self._jobs += rows
        return None

    def insert(self) -> None:
        """Within the open transaction."""
        book, running = self._book, self._running
        for generation in self._generations:
            book.named(generation, self._first, book.next_delivery - 1)
        book.ruled(self._ruled)
        book.insert("deliveries", self._deliveries)
        book.insert(JOB_ROW, self._jobs)
        if running:
            book.later.append(lambda: book.running.update(running))


def _insert_special(
    book: Book, receipt: Receipt, wanted: Sequence[NewJob], rows: Sequence[Row], now: int
) -> Receipt:
    """Insert jobs of which some belong to runs or wait; the runs in order, each a turn or none."""
    changes = runs.changes(book, now)
    by_run: dict[str | None, list[int]] = {}
    for place, job in enumerate(wanted):
        by_run.setdefault(job.run, []).append(place)
    alone = by_run.pop(None, [])
    book.insert(JOB_ROW, [rows[i] for i in alone if wanted[i].state != "waiting"])
    runs.insert_waiting(book, [rows[i] for i in alone if wanted[i].state == "waiting"])
    for places in by_run.values():
        jobs = [wanted[i] for i in places]
        runs.at_once(changes.add(NewRun(jobs, [rows[i] for i in places], jobs[0].turn)))
    if not changes.cancelled or isinstance(receipt, Duplicate):
        return receipt
    return msgspec.structs.replace(receipt, cancelled=changes.outcome()[1])


def _count_copy(book: Book, acceptance: Acceptance, fate: Duplicate) -> None:
    seen = acceptance.delivery.received_at

    def count() -> None:
        copies, last = book.copies.get(fate.delivery, (0, seen))
        book.copies[fate.delivery] = (copies + 1, max(last, seen))

    book.later.append(count)


def _claim(book: Book, batch: Sequence[Timed]) -> list[Receipt]:
    """
    Claim every key of the batch in one insertion; the unique index says whether any was known.

    In the usual case all were free and nothing is left to do.
    """
    claims, total = claimed([one for one, _ in batch])
    if claims:
        now = max([now for _, now in batch])
        taken = book.insert(
            "keys",
            list(claims.values()),
            "ON CONFLICT (key) DO UPDATE SET delivery = excluded.delivery, "
            "until = excluded.until WHERE until <= ?",
            (now,),
        )
        book.pages += len(claims)
        if taken != total:
            return _judge(book, batch, claims)
    return [Accepted(one.delivery.id) for one, _ in batch]


def _judge(book: Book, batch: Sequence[Timed], claims: dict[bytes, Claim]) -> list[Receipt]:
    """Some key was known or came twice: see who owns each, then go through the batch in order."""
    ours = {one.delivery.id for one, _ in batch}
    if len(ours) < len(batch):
        raise Anomaly
    found = _owners(book, list(claims))
    known = {key: owner for key, owner in found.items() if owner not in ours}
    kept: dict[bytes, Claim] = {}
    receipts = [judge(one, known, kept) for one, _ in batch]
    dropped = [key for key, owner in found.items() if owner in ours and key not in kept]
    book.db.executemany("DELETE FROM keys WHERE key = ?", [(key,) for key in dropped])
    book.db.executemany(
        "UPDATE keys SET delivery = ?, until = ? WHERE key = ?",
        [(id_, until, key) for key, id_, until in kept.values() if kept[key] != claims[key]],
    )
    return receipts


def _owners(book: Book, keys: Sequence[bytes]) -> dict[bytes, str]:
    owners: dict[bytes, str] = {}
    for start in range(0, len(keys), ROWS):
        chunk = keys[start : start + ROWS]
        marks = ",".join("?" * len(chunk))
        owners.update(
            book.db.execute(f"SELECT key, delivery FROM keys WHERE key IN ({marks})", chunk)
        )
    return owners
