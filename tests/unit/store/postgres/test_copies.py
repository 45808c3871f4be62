"""Copies of deliveries, which several routers count."""

import pytest

from router.errors import StoreUnavailable
from router.model.store_address import DatabaseUrl
from router.store.postgres.copies import Copies
from router.store.postgres.database import Database
from tests.clocks import START_MS, JumpingClock
from tests.store_values import Maker
from tests.unit.store.postgres.looking import rows


async def test_what_could_not_be_written_goes_with_the_next(db: Database, make: Maker) -> None:
    nobody = Database(DatabaseUrl("postgresql://router@127.0.0.1:1/router"), JumpingClock(), 6)
    one, other = make.delivery().id, make.delivery().id
    copies = Copies()
    for id_, at in ((one, 2), (one, 1), (other, 3)):
        copies.add(id_, START_MS + at)
    with pytest.raises(StoreUnavailable):
        await copies.write(nobody)
    copies.add(other, START_MS + 9)
    await copies.write(db)
    assert not copies
    copies.add(one, START_MS)
    await copies.write(db)
    found = await rows(db, "SELECT delivery, count, last_seen_at FROM copies ORDER BY 1")
    assert [tuple(row) for row in found] == [
        (one[4:], 3, START_MS + 2),
        (other[4:], 2, START_MS + 9),
    ]
