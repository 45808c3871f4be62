"""How the admin listener refuses a request, whoever finds the reason."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus

import msgspec

from router.errors import NotFound, RouterError, StoreUnavailable, UsageError

JSON = "application/json"
PROBLEM = "application/problem+json"

Headers = Iterable[tuple[bytes, bytes]]


class Rejected(Exception):
    """The request is not acceptable; the text says why, for whoever operates this."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] = {}) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers


class ProblemDetails(msgspec.Struct, frozen=True):
    """What went wrong; `detail` is in the words of whoever found it."""

    title: str
    status: int
    detail: str


def problem_body(status: int, detail: str) -> bytes:
    """A refusal as JSON."""
    return msgspec.json.encode(ProblemDetails(HTTPStatus(status).phrase, status, detail))


def refusal(error: Rejected | RouterError) -> tuple[int, Mapping[str, str]]:
    """The status that says whose fault it is, and the headers that go with it."""
    match error:
        case Rejected():
            return error.status, error.headers
        case NotFound():
            return 404, {}
        case UsageError():
            return 400, {}
        case StoreUnavailable():
            return 503, {}
    return 409, {}  # the ledger or the file stands against it; the text says how
