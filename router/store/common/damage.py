"""A stored row that cannot be read: no other one of its store is to be relied on."""

from router.errors import StoreUnavailable

RESTORE = "restore a backup (of a file: `router store restore BACKUP`)"

UNREADABLE = (ValueError, TypeError, LookupError)
"""What reading a row raises whose values are not those that were stored."""


class Damaged(StoreUnavailable):
    """The text names the table and the row. A verb of the store that raises this is its last."""


def damaged(table: str, row: object, why: object) -> Damaged:
    """The error of a row that cannot be read."""
    return Damaged(f"row {row} of table {table} cannot be read ({why}): {RESTORE}")
