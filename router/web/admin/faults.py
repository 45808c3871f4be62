"""What the admin listener answers when something does not go, be it asked by a tool or a page."""

from router.errors import NotFound, RouterError, StoreUnavailable, UsageError
from router.web.admin.call import Receive, Rejected
from router.web.admin.callers import TooManyGuesses


def status_of(error: RouterError) -> int:
    """The status that says whose fault it is."""
    match error:
        case NotFound():
            return 404
        case UsageError():
            return 400
        case StoreUnavailable():
            return 503
    return 409  # the ledger or the file stands against it; the text says how


def asked_too_often(error: TooManyGuesses) -> Rejected:
    """The refusal of a guess, with the time to wait."""
    return Rejected(429, str(error), (b"retry-after", b"%d" % error.wait_s))


async def read_whole(receive: Receive, most: int, what: str) -> bytes:
    """
    The request's body, of `most` bytes; `what` names it.

    Raises:
        Rejected: it is too long, or ended early.
    """
    data = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise Rejected(400, "the request ended early")
        data += message.get("body", b"")
        more = message.get("more_body", False)
        if len(data) > most:
            raise Rejected(413, f"{what} has at most {most} bytes")
    return bytes(data)
