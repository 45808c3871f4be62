"""Making deliveries durable: keys decide what is new, then delivery and jobs follow."""

from collections.abc import Iterable, Sequence

import msgspec

from router.model.job import Attempt, Job, NewJob
from router.store.sqlite import damage, runs
from router.store.sqlite.fragments import DELIVERY_STATE
from router.store.sqlite.rows import (
    decode_events,
    encode_events,
    encode_meta,
    encode_names,
    job_rows,
)
from router.store.sqlite.writer_state import ROWS, Book, Row
from router.store.values import Acceptance, Accepted, Duplicate, EventEntry, narrowed


class Anomaly(Exception):
    """Something in this batch is out of the ordinary: do its items one by one."""


Receipt = Accepted | Duplicate

Special = tuple[Sequence[NewJob], Sequence[Row]]
"""A delivery's jobs and their rows, some of which belong to runs or wait for a paused rule."""

JOB_ROW = (
    "jobs (n, id, state, due_at, target, rule, action, kind, event_index, event_id, event, "
    "created_at, generation, attempt, lease, started_at, replay_of, covers)"
)
_PAGE = 4096


class Prepared(msgspec.Struct, frozen=True):
    """
    An acceptance with its encoding done, so that a fault in it is its caller's alone; `now` is
    ledger time.
    """

    acceptance: Acceptance
    names: str
    events: bytes
    meta: bytes
    now: int


def prepare(acceptance: Acceptance, now: int) -> Prepared:
    """Encode what can be encoded without the store."""
    delivery = acceptance.delivery
    events = acceptance.events
    return Prepared(
        acceptance, encode_names(events), encode_events(events), encode_meta(delivery), now
    )


def accept_all(book: Book, batch: Sequence[Prepared]) -> list[Receipt]:
    """Store a batch within the open transaction; one receipt each, in order."""
    fates = _claim(book, batch)
    receipts: list[Receipt] = []
    deliveries: list[Row] = []
    jobs: list[Row] = []
    running: dict[str, int] = {}
    special: list[tuple[int, Special]] = []
    book.numbering()
    for prepared, fate in zip(batch, fates, strict=True):
        if isinstance(fate, Duplicate):
            _count_copy(book, prepared, fate)
        else:
            rest = _lay_out(book, prepared, fate, (deliveries, jobs, running))
            if rest is not None:
                special.append((len(receipts), rest))
        receipts.append(fate)
    book.insert("deliveries", deliveries)
    book.insert(JOB_ROW, jobs)
    if running:
        book.later.append(lambda: book.running.update(running))
    for place, (wanted, rows) in special:
        receipts[place] = _insert_special(book, receipts[place], wanted, rows, batch[place].now)
    return receipts


def accepted_before(book: Book, prepared: Prepared) -> Accepted | None:
    """The receipt of a delivery that is there already."""
    acceptance = prepared.acceptance
    found = book.one("SELECT events FROM deliveries WHERE id = ?", (acceptance.delivery.id,))
    if found is None:
        return None
    new = frozenset([event.index for event in decode_events(found)])
    return Accepted(acceptance.delivery.id, None if len(new) == len(acceptance.events) else new)


def accept_of_dead(book: Book, ended: Iterable[tuple[Job, Attempt]], now: int) -> None:
    """Accept what the router itself has to say of jobs that have been found dead."""
    owns = [prepare(own, now) for job, end in ended if (own := book.died(job, end)) is not None]
    if owns:
        accept_all(book, owns)


def report_damaged(book: Book) -> None:
    """Runs of jobs that were found unreadable go on, and the router reports them: all at once."""
    while book.open:
        number, now = book.open.pop(0)
        at = book.wall(now)
        job, run = damage.dead_job(book, number, at)
        if run is not None:
            runs.RunChanges(book, now).follow(run)
        end = Attempt(job.id, job.attempt, at, at, "dead", damage.CORRUPT, {}, job.generation)
        accept_of_dead(book, [(job, end)], now)


def _lay_out(
    book: Book,
    prepared: Prepared,
    receipt: Accepted,
    into: tuple[list[Row], list[Row], dict[str, int]],
) -> Special | None:
    """Add to the rows to insert; jobs that are more than a row are returned instead."""
    delivery, new = prepared.acceptance.delivery, receipt.new
    deliveries, jobs, running = into
    number = book.next_delivery
    book.next_delivery = number + 1
    generation = book.generation(delivery.generation)
    book.named(generation, number, number)
    names, events = prepared.names, prepared.events
    wanted = prepared.acceptance.jobs
    if new is not None:
        kept = [e for e in prepared.acceptance.events if e.index in new]
        names, events = encode_names(kept), encode_events(kept)
        left = [narrowed(job, prepared.acceptance.events, new) for job in wanted]
        wanted = tuple([job for job in left if job is not None])
    deliveries.append(
        (
            number,
            delivery.id,
            delivery.endpoint,
            DELIVERY_STATE[delivery.state],
            delivery.received_at,
            generation,
            names,
            events,
            prepared.meta,
            delivery.body,
        )
    )
    book.pages += 2 + len(wanted) + len(delivery.body) // _PAGE
    if not wanted:
        return None
    rows, begun = job_rows(wanted, number, 0, generation, book.wall(prepared.now))
    running.update(begun)
    book.ruled({(job.rule, generation) for job in wanted})
    if any(job.run is not None or job.state == "waiting" for job in wanted):
        return wanted, rows
    jobs += rows
    return None


def _insert_special(
    book: Book, receipt: Receipt, wanted: Sequence[NewJob], rows: Sequence[Row], now: int
) -> Receipt:
    """Insert jobs of which some belong to runs or wait; the runs in order, each a turn or none."""
    changes = runs.RunChanges(book, now)
    by_run: dict[str | None, list[int]] = {}
    for place, job in enumerate(wanted):
        by_run.setdefault(job.run, []).append(place)
    alone = by_run.pop(None, [])
    book.insert(JOB_ROW, [rows[i] for i in alone if wanted[i].state != "waiting"])
    runs.insert_waiting(book, [rows[i] for i in alone if wanted[i].state == "waiting"])
    for places in by_run.values():
        jobs = [wanted[i] for i in places]
        changes.add(runs.NewRun(jobs, [rows[i] for i in places], jobs[0].turn))
    if not changes.cancelled or isinstance(receipt, Duplicate):
        return receipt
    return msgspec.structs.replace(receipt, cancelled=tuple(sorted(changes.cancelled)))


def _count_copy(book: Book, prepared: Prepared, fate: Duplicate) -> None:
    seen = prepared.acceptance.delivery.received_at

    def count() -> None:
        copies, last = book.copies.get(fate.delivery, (0, seen))
        book.copies[fate.delivery] = (copies + 1, max(last, seen))

    book.later.append(count)


def _claim(book: Book, batch: Sequence[Prepared]) -> list[Receipt]:
    """
    Claim every key of the batch in one insertion; the unique index says whether any was known.

    In the usual case all were free and nothing is left to do.
    """
    claims: dict[bytes, tuple[str, int]] = {}
    total = 0
    for prepared in batch:
        for event in prepared.acceptance.events:
            total += len(event.keys)
            for key in event.keys:
                claims.setdefault(key, (prepared.acceptance.delivery.id, event.keys_until))
    if not claims:
        return [Accepted(p.acceptance.delivery.id) for p in batch]
    now = max(p.now for p in batch)
    taken = book.insert(
        "keys",
        [(key, delivery, until) for key, (delivery, until) in claims.items()],
        "ON CONFLICT (key) DO UPDATE SET delivery = excluded.delivery, until = excluded.until "
        f"WHERE until <= {now:d}",
    )
    book.pages += len(claims)
    if taken == total:
        return [Accepted(p.acceptance.delivery.id) for p in batch]
    return _judge(book, batch, claims)


def _judge(
    book: Book, batch: Sequence[Prepared], claims: dict[bytes, tuple[str, int]]
) -> list[Receipt]:
    """Some key was known or came twice: see who owns each, then go through the batch in order."""
    ours = {p.acceptance.delivery.id for p in batch}
    if len(ours) < len(batch):
        raise Anomaly
    found = _owners(book, list(claims))
    known = {key: owner for key, owner in found.items() if owner not in ours}
    kept: dict[bytes, tuple[str, int]] = {}
    receipts = [_receipt(p.acceptance, known, kept) for p in batch]
    dropped = [key for key, owner in found.items() if owner in ours and key not in kept]
    book.db.executemany("DELETE FROM keys WHERE key = ?", [(key,) for key in dropped])
    book.db.executemany(
        "UPDATE keys SET delivery = ?, until = ? WHERE key = ?",
        [(id_, until, k) for k, (id_, until) in kept.items() if kept[k] != claims[k]],
    )
    return receipts


def _receipt(
    acceptance: Acceptance, known: dict[bytes, str], kept: dict[bytes, tuple[str, int]]
) -> Receipt:
    """Judge one acceptance; its new events' keys become known to those that follow."""
    id_, events = acceptance.delivery.id, acceptance.events
    owners = [_take(event, id_, known, kept) for event in events]
    new = frozenset([e.index for e, owner in zip(events, owners, strict=True) if owner is None])
    if events and not new:
        return Duplicate(next(owner for owner in owners if owner is not None))
    return Accepted(id_, None if len(new) == len(events) else new)


def _take(
    event: EventEntry, delivery: str, known: dict[bytes, str], kept: dict[bytes, tuple[str, int]]
) -> str | None:
    """The owner of the event's first known key; None: it was new and its keys are now taken."""
    for key in event.keys:
        if key in known:
            return known[key]
    for key in event.keys:
        known[key] = delivery
        kept[key] = (delivery, event.keys_until)
    return None


def _owners(book: Book, keys: Sequence[bytes]) -> dict[bytes, str]:
    owners: dict[bytes, str] = {}
    for start in range(0, len(keys), ROWS):
        chunk = keys[start : start + ROWS]
        marks = ",".join("?" * len(chunk))
        owners.update(
            book.db.execute(f"SELECT key, delivery FROM keys WHERE key IN ({marks})", chunk)
        )
    return owners
