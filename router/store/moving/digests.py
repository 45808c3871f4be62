"""Counts and digests of tables, the same for the same rows in whatever order they come."""

from hashlib import blake2b, sha256
from typing import Any

import msgspec

from router.store.moving.tables import TABLES, Row

_SIZE = 16
_encode = msgspec.msgpack.Encoder().encode
_IDS = {
    table: [at for at, kind in enumerate(columns.values()) if kind.startswith("uuid")]
    for table, columns in TABLES.items()
}
_BODY = list(TABLES["deliveries"]).index("body")


class Digest(msgspec.Struct):
    """Of the rows that were added: how many, and the sum of their hashes."""

    rows: int = 0
    sum: int = 0

    def add(self, row: Row) -> None:
        """One more row as the database gives it: ids without kinds, of bodies their SHA-256."""
        hashed = blake2b(_encode(row), digest_size=_SIZE).digest()
        self.rows += 1
        self.sum = (self.sum + int.from_bytes(hashed, "big")) % (1 << 8 * _SIZE)

    def __str__(self) -> str:
        return f"{self.sum:032x}"


def as_kept(table: str, row: Row) -> Row:
    """A row of `checked` as the database gives it."""
    values: list[Any] = list(row)
    for at in _IDS[table]:
        value = values[at]
        values[at] = [id_[4:] for id_ in value] if isinstance(value, list) else value and value[4:]
    if table == "deliveries":
        values[_BODY] = sha256(values[_BODY]).digest()
    return tuple(values)
