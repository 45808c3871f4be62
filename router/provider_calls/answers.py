"""What came of a call: an answer, or words of our own for why there is none."""

from typing import Protocol

import msgspec

from router.errors import RouterError
from router.model.retry import http_date
from router.providers.management import ApiRequest, read_problem

MASK = "***"
_UNIX_TIME = 1e9
_DAY_S = 86_400.0


class CallFailedError(RouterError):
    """
    No answer came. `arrived` True: the call may have been carried out all the same.
    """

    def __init__(self, words: str, *, arrived: bool) -> None:
        super().__init__(words)
        self.arrived = arrived


class ApiAnswer(msgspec.Struct, frozen=True):
    """
    What came back. `retry_after_s` is what a Retry-After asks for, None without a usable one;
    `used_up_s`: no call is left for so long (rate limit headers), None: some are, or nobody says.
    `link` is the Link header.

    `unlike` says of a 2xx what it is in place of the answer that means success: None, if it is
    that answer.
    """

    status: int
    body: bytes
    retry_after_s: float | None = None
    unlike: str | None = None
    used_up_s: float | None = None
    link: str | None = None

    @property
    def ok(self) -> bool:
        """Whether it says that the call was carried out."""
        return 200 <= self.status < 300 and self.unlike is None


class Sends(Protocol):
    """What sends requests; see `client.Client`."""

    async def send(self, request: ApiRequest) -> ApiAnswer: ...


def refused(answer: ApiAnswer, token: str | None) -> str:
    """What an answer that is not `ok` says, the token masked should it be echoed."""
    if answer.unlike is not None:
        return answer.unlike
    body = answer.body.replace(token.encode(), MASK.encode()) if token else answer.body
    said = read_problem(body)
    if token:  # it may have been spelt otherwise in JSON
        said = said.replace(token, MASK)
    return f"HTTP {answer.status}" + (f": {said}" if said else "")


def retry_after(value: str | None, date: str | None) -> float | None:
    """
    Seconds that a Retry-After asks for, from a number (`2`, `2.0`) or a time; None: not usable.

    A time counts from the answer's own Date, so that our clock need not agree with the sender's.
    """
    if value is None:
        return None
    try:
        seconds = float(value[:20])
    except ValueError:
        seconds = _until(value, date)
    return seconds if 0 <= seconds < float("inf") else None


def used_up(remaining: str | None, reset: str | None, date: str | None) -> float | None:
    """
    Seconds until calls are allowed again, by `X-RateLimit-Remaining` and `-Reset` (a Unix time, or
    seconds); None: some are left, or the headers say nothing usable.
    """
    if remaining is None or reset is None or remaining.strip() != "0":
        return None
    try:
        at = float(reset[:20])
        seconds = at - http_date(date or "") if at > _UNIX_TIME else at
    except ValueError:
        return None
    return min(max(0.0, seconds), _DAY_S) if seconds == seconds else None  # noqa: PLR0124 - NaN


def _until(value: str, date: str | None) -> float:
    try:
        return max(0.0, http_date(value) - http_date(date or ""))
    except ValueError:
        return -1.0
