"""Copies of deliveries, counted in memory and written now and then."""

from router.store.postgres.database import Database, Tx

_WRITE = (
    "INSERT INTO copies SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) "
    "ON CONFLICT (delivery) DO UPDATE SET count = copies.count + excluded.count, "
    "last_seen_at = greatest(copies.last_seen_at, excluded.last_seen_at)"
)


class Copies:
    """How many came of each delivery since they were last written, and when the last of them."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int, int]] = {}

    def add(self, delivery: str, seen_at: int, count: int = 1) -> None:
        """Another copy of this delivery."""
        counted, last = self._counted.get(delivery, (0, seen_at))
        self._counted[delivery] = (counted + count, max(last, seen_at))

    def __bool__(self) -> bool:
        return bool(self._counted)

    async def write(self, db: Database) -> None:
        """
        Add them to what others have counted; if that fails they are kept.

        Raises:
            StoreUnavailable: they may have been written all the same.
        """
        counted, self._counted = self._counted, {}
        if not counted:
            return
        rows = [(id_, count, last) for id_, (count, last) in sorted(counted.items())]

        async def work(tx: Tx) -> None:
            await tx.run(_WRITE, *zip(*rows, strict=True))

        try:
            await db.transact(work)
        except BaseException:
            for id_, count, last in rows:
                self.add(id_, last, count)
            raise
