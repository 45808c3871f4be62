"""New jobs for a stored delivery: replays, alone or as runs again."""

from collections.abc import Sequence

from router.errors import NotFound
from router.model.job import NewJob, Turn
from router.store.common.adding import Unit, replayed, units
from router.store.common.run_changes import NewRun
from router.store.common.states import TURN_HALTED
from router.store.sqlite import runs
from router.store.sqlite.accepting import JOB_ROW
from router.store.sqlite.fragments import JOBS_OF, LISTED, PLACE_BITS, PLACES, listed
from router.store.sqlite.rows import job_row
from router.store.sqlite.writer_state import Book


def add(book: Book, delivery: str, jobs: Sequence[NewJob], now: int) -> int:
    """Make new jobs for a stored delivery. Raises NotFound."""
    known = "SELECT n, generation FROM deliveries WHERE id = ?"
    if (row := book.db.execute(known, (delivery,)).fetchone()) is None:
        raise NotFound(f"no delivery {delivery}")
    number, own = row
    last = book.one(f"SELECT max(j.n) FROM jobs j, (SELECT ? AS n) d WHERE {JOBS_OF}", [number])
    place = 0 if last is None else last % PLACES + 1
    for unit in units(jobs, _origins(book, jobs)):
        wanted = unit.jobs[0].generation
        generation = own if wanted is None else book.generation(wanted)
        book.named(generation, number, number)
        book.ruled({(job.rule, generation) for job in unit.jobs})
        _add(book, unit, (number, place, generation), now)
        place += len(unit.jobs)
    book.pages += 2 * len(jobs)
    return len(jobs)


def _add(book: Book, unit: Unit, where: tuple[int, int, int], now: int) -> None:
    delivery, place, generation = where
    wall, first = book.wall(now), (delivery << PLACE_BITS) + place
    rows = [job_row(job, n, generation, wall) for n, job in enumerate(unit.jobs, first)]
    if not unit.linked:
        alone = unit.jobs[0].state != "waiting"
        book.insert(JOB_ROW, rows) if alone else runs.insert_waiting(book, rows)
        return
    # A replay takes its turn where the run that it replays did.
    turn = unit.jobs[0].turn or runs.stored_turn(book, unit.origin)
    takes_over = None if turn is None else _halted(book, turn, unit, delivery)
    new = NewRun(unit.jobs, rows, turn, unit.origin, takes_over)
    runs.at_once(runs.changes(book, now).add(new))


def _origins(book: Book, jobs: Sequence[NewJob]) -> dict[str, int]:
    """The runs that the replayed jobs belonged to."""
    asked = replayed(jobs)
    if not asked or book.next_run == 1:
        return {}
    return dict(
        book.db.execute(
            f"SELECT id, run FROM jobs WHERE id {LISTED} AND run IS NOT NULL", (listed(asked),)
        )
    )


def _halted(book: Book, turn: Turn, unit: Unit, delivery: int) -> int | None:
    """The run that halts this group, if this is its replay: by its jobs, or by its delivery."""
    halting = f"SELECT n, first_job FROM runs WHERE key = ? AND turn = {TURN_HALTED} ORDER BY n"
    for run, first in book.db.execute(halting, (turn.key,)).fetchall():
        its_delivery = unit.origin is None and first >> PLACE_BITS == delivery
        if its_delivery or unit.origin in _line(book, run):
            return int(run)
    return None


_LINE_MAX = 100


def _line(book: Book, run: int | None) -> set[int]:
    """A run, the one that it replays, and so on."""
    line: set[int] = set()
    while run is not None and len(line) < _LINE_MAX:
        line.add(run)
        run = book.one("SELECT origin FROM runs WHERE n = ?", [run])
    return line
