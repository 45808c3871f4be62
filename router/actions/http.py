"""The `http` action: one request, its answer read within bounds, its outcome classed."""

import asyncio
import functools
import re
import time
from collections.abc import Callable

from router.actions.begun import waited_for
from router.actions.http_client.client import HttpClient
from router.actions.http_client.request import OutgoingRequest, place_of, request_of
from router.actions.http_client.response import HttpAnswer, TransferError
from router.actions.kept_response import result_of
from router.actions.request_auth import Contexts, UnusableError, UnusableFilesError, signatures
from router.actions.resolve import NameCache, Resolve, system_lookup
from router.dispatch.protocol import Ended
from router.egress import EgressPolicy
from router.errors import EgressRefused
from router.kinds.http import HttpCall, of_status
from router.kinds.kind import ActionCall
from router.log import Redactor
from router.model.job import FailOutcome, Job, Outcome, RetryOutcome
from router.model.retry import http_date

_ORIGIN = re.compile(r"[a-zA-Z]+://[^/?#\\]*")


class HttpAction:
    """
    Sends calls over a pool of connections.

    Every connection's address is checked as it is made. Nothing is followed (redirects), taken
    from the environment (proxies) or kept (cookies). Reasons are our own words: an exception's
    text may quote a URL with a secret in it. What `redactor` knows is masked in what is kept, as
    are the credentials that a call sends. `lookup` replaces the system's name resolution.
    """

    def __init__(
        self,
        egress: EgressPolicy,
        *,
        redactor: Redactor | None = None,
        lookup: Resolve = system_lookup,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._egress = egress
        self._redactor = redactor or Redactor()
        self._names = NameCache(lookup)
        self._client: HttpClient | None = None
        self._now_s = now_s
        self._contexts = Contexts()

    def begin(self, call: ActionCall, job: Job, ended: Ended) -> Callable[[], None] | None:
        """
        Send it without a task of its own; None: it is no http call.

        `ended` is told the outcome once, later; or the exception that it should never come to.
        What is returned ends the work at once: then nobody is told.
        """
        return self._begun(call, job, ended) if isinstance(call, HttpCall) else None

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        """Send it once, read at most 64 KiB of the answer."""
        if not isinstance(call, HttpCall):
            return FailOutcome("not an http call")
        return await waited_for(functools.partial(self._begun, call, job))

    async def close(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.close()
        self._names.close()

    def _begun(self, call: HttpCall, job: Job, ended: Ended) -> Callable[[], None]:
        if self._client is None:
            self._client = HttpClient(self._egress, self._names.addresses)
        try:
            request = self._request(call, job)
        except UnusableError as error:
            late = isinstance(error, UnusableFilesError)
            outcome = RetryOutcome("network", str(error)) if late else FailOutcome(str(error))
            return asyncio.get_running_loop().call_soon(ended, outcome).cancel
        return self._client.send(request, functools.partial(self._found, call, ended))

    def _request(self, call: HttpCall, job: Job) -> OutgoingRequest:
        if (place := place_of(call.url)) is not None:
            tls = self._contexts.of(call.tls, call.tls_key) if place.secure else None
            request = request_of(call, place, self._headers(call, job), tls)
            if request is not None:
                return request
        raise UnusableError("the request cannot be written: a malformed URL or header")

    def _found(self, call: HttpCall, ended: Ended, found: HttpAnswer | Exception) -> None:
        try:
            outcome: Outcome | Exception = self._classed(call, found)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            outcome = error
        ended(outcome)

    def _classed(self, call: HttpCall, found: HttpAnswer | Exception) -> Outcome:
        """What an answer, or what there was instead of one, means to the call."""
        if isinstance(found, HttpAnswer):
            return self._answered(call, found)
        if isinstance(found, TimeoutError):
            return RetryOutcome("timeout", f"no answer within {call.timeout_s:g} s")
        if isinstance(found, EgressRefused):
            return _refused(call, found)
        if isinstance(found, TransferError):
            return RetryOutcome("network", str(found))
        raise found

    def _answered(self, call: HttpCall, answer: HttpAnswer) -> Outcome:
        result = result_of(call, answer, self._redactor)
        value = next((value for name, value in answer.headers if name == "retry-after"), None)
        return of_status(call, answer.status, retry_after(value, self._now_s()), result)

    def _headers(self, call: HttpCall, job: Job) -> tuple[tuple[str, str], ...]:
        """The call's own, and the signatures that each attempt makes anew."""
        if call.sign is None:
            return call.headers
        return (*call.headers, *signatures(call, job.id, self._now_s()))


def _refused(call: HttpCall, error: EgressRefused) -> Outcome:
    """A name is tried again, as its resolver may answer otherwise. A secret address stays one."""
    origin, secret = _ORIGIN.match(call.shown_url), call.shown_url.startswith("***")
    host = "its host" if secret else error.host
    reason = f"{origin[0] if origin else '***'}: {host} {error.why}"
    return FailOutcome(reason) if error.lasting else RetryOutcome("network", reason)


def retry_after(value: str | None, now_s: float) -> float | None:
    """Seconds that a Retry-After asks for, from a number or an HTTP date; None: nothing usable."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        return max(0.0, http_date(text) - now_s)
    except ValueError:
        return None
