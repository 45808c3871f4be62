"""Ids as PostgreSQL keeps them: a ULID is 128 bits, so a uuid, without the kind before it."""

from router.model.ids import DIGITS, digits

ULID_LENGTH = 26
_TO_BASE_32 = str.maketrans(DIGITS, "0123456789abcdefghijklmnopqrstuv")


def encode_id(id_: str) -> bytes:
    """The 16 bytes of an id like `dlv_…`. Raises ValueError: it is none."""
    return int(id_[4:].translate(_TO_BASE_32), 32).to_bytes(16, "big")


def time_of(id_: str) -> int:
    """When an id was made, in Unix milliseconds. Raises ValueError: it is none."""
    return int.from_bytes(encode_id(id_)[:6], "big")


def decode_id(raw: bytes) -> str:
    """The ULID of those bytes; the kind before it is the column's."""
    return digits(int.from_bytes(raw, "big"), ULID_LENGTH // 2)


def is_id(text: str) -> bool:
    """Whether `encode_id` takes it; what it does not take is nobody's id."""
    try:
        return bool(encode_id(text))
    except (ValueError, OverflowError):
        return False
