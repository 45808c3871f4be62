"""How the admin listener refuses a request, whoever finds the reason."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus

import msgspec

from router.errors import RouterError

JSON = "application/json"
PROBLEM = "application/problem+json"

Headers = Iterable[tuple[bytes, bytes]]


class Rejected(Exception):
    """
    The request is not acceptable; the text says why, for whoever operates this, and `word` for
    programs: a RouterError's, else as the status says.
    """

    def __init__(
        self, status: int, detail: str, headers: Mapping[str, str] = {}, *, word: str | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers
        self.word = word or HTTPStatus(status).phrase.lower().replace(" ", "_")


class ProblemDetails(msgspec.Struct, frozen=True):
    """
    What went wrong; `detail` is in the words of whoever found it, `error` one word for programs.
    """

    title: str
    status: int
    detail: str
    error: str


def problem_body(rejected: Rejected) -> bytes:
    """A refusal as JSON."""
    title = HTTPStatus(rejected.status).phrase
    return msgspec.json.encode(ProblemDetails(title, rejected.status, str(rejected), rejected.word))


_STATUSES = {
    "not_found": 404, "ambiguous": 404, "usage": 400, "forbidden": 403, "condition_busy": 429,
    "condition_ended": 422, "store_unavailable": 503,
}  # fmt: skip
"""For all else the store or the file stands against it; the text says how."""


def rejection(error: RouterError) -> Rejected:
    """The refusal with the status that says whose fault it is."""
    return Rejected(_STATUSES.get(error.word, 409), str(error), word=error.word)
