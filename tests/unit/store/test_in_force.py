"""The table of the rules in force stays small."""

from router.store.sqlite import in_force
from tests.clocks import START_MS
from tests.unit.store.ledger import Ledger


def test_only_the_newest_rows_are_kept() -> None:
    ledger, kept = Ledger(), in_force.KEPT
    for n in range(kept + 3):
        in_force.put_in_force(ledger.book, f"g{n}", by=f"n{n % 2}", at=START_MS)
    (found,) = ledger.db.execute("SELECT group_concat(seq) FROM published ORDER BY seq").fetchone()
    assert found == ",".join(map(str, range(4, kept + 4)))
