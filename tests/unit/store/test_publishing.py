"""The table of publications stays small."""

from router.store.common.publications import KEPT
from router.store.sqlite import publishing
from tests.clocks import START_MS
from tests.unit.store.ledger import Ledger


def test_only_the_newest_publications_are_kept() -> None:
    ledger = Ledger()
    for n in range(KEPT + 3):
        publishing.publish(ledger.book, f"g{n}", by=f"n{n % 2}", at=START_MS)
    (kept,) = ledger.db.execute("SELECT group_concat(seq) FROM published ORDER BY seq").fetchone()
    assert kept == ",".join(map(str, range(4, KEPT + 4)))
