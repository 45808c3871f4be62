"""Where a page of a list ended, as an opaque text: the `next` of an answer, the next `cursor`."""

import base64
import binascii
from typing import Any

import msgspec

from router.errors import UsageError


def cursor_of(name: str, reached: Any) -> str:
    """The cursor of the page of the list `name` that goes on after `reached`."""
    packed = base64.urlsafe_b64encode(msgspec.json.encode((name, reached)))
    return packed.decode("ascii").rstrip("=")


def reached_by(cursor: str | None, name: str, kind: Any) -> Any:
    """
    Where the page before ended, of this `kind`; None: the first page.

    Raises:
        UsageError: the cursor is not one of this list.
    """
    if cursor is None:
        return None
    try:
        packed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        of, reached = msgspec.json.decode(packed, type=tuple[str, Any])
        place = msgspec.convert(reached, kind)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        of = ""
    if of != name:
        raise UsageError("this cursor is of no page of this list; leave it out to start again")
    return place
