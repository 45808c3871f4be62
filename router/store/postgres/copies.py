"""Copies of deliveries, counted in memory and written now and then."""

from router.store.postgres.database import Database


class Copies:
    """…"""

    def add(self, delivery: str, seen_at: int) -> None:
        """…"""
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise NotImplementedError

    async def write(self, db: Database) -> None:
        """…"""
        raise NotImplementedError
