"""The `http` action: one request, its answer read within bounds, its outcome classed."""

import contextvars
import functools
import io
import re
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from router.actions.begun import waited_for
from router.actions.kept_response import result_of
from router.actions.plain_http.client import PlainClient
from router.actions.plain_http.request import AGENT, PlainRequest, place_of, request_of
from router.actions.plain_http.response import ANSWER_MAX, HttpAnswer, TransferError, errno_words
from router.actions.request_auth import Contexts, UnusableError, UnusableFilesError, signatures
from router.actions.resolve import NameCache, Resolve, system_lookup
from router.dispatch.protocol import Ended
from router.egress import EgressPolicy, check_name, is_written
from router.errors import EgressRefused
from router.kinds.http import HttpCall, of_status
from router.kinds.kind import ActionCall
from router.log import Redactor
from router.model.job import FailOutcome, Job, Outcome, RetryOutcome
from router.model.retry import http_date

if TYPE_CHECKING:
    import aiohttp

LARGE_BODY = 512 * 1024

_PLAIN = re.compile(r"[!-~]+").fullmatch
_ORIGIN = re.compile(r"[a-zA-Z]+://[^/?#\\]*")


class _Destination:
    """What a running call's connections are checked by, and what came of it."""

    __slots__ = ("refusal", "tried", "url", "written")

    def __init__(self, written: str) -> None:
        self.written = written
        self.url: Any = None  # set before the first connection
        self.refusal: EgressRefused | None = None  # until an address was tried
        self.tried = False


_aim: contextvars.ContextVar[_Destination] = contextvars.ContextVar("aim")


class HttpAction:
    """
    Sends calls over pools of connections: plain HTTP over a client of our own, TLS and whatever
    is unusual over aiohttp; with `plain=False` all of them, to the same effect.

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
        plain: bool = True,
    ) -> None:
        import aiohttp  # noqa: PLC0415 - 165 ms that `check` must not pay

        from router.actions import response_bounds  # noqa: PLC0415 - aiohttp again

        self._aiohttp, self._receiving = aiohttp, response_bounds
        self._egress = egress
        self._redactor = redactor or Redactor()
        self._names = NameCache(lookup)
        self._plain: PlainClient | None = None
        self._may_be_plain = plain
        self._now_s = now_s
        self._contexts = Contexts()
        self._session: aiohttp.ClientSession | None = None
        self._timeout = functools.cache(lambda s, c: aiohttp.ClientTimeout(total=s, connect=c))

    def begin(self, call: ActionCall, job: Job, ended: Ended) -> Callable[[], None] | None:
        """
        Send it without a task of its own, if it is plain enough; None: only `run` can.

        `ended` is told the outcome once, later; or the exception that it should never come to.
        What is returned ends the work at once: then nobody is told.
        """
        if not isinstance(call, HttpCall) or (request := self._plain_request(call, job)) is None:
            return None
        return self._begun(call, request, ended)

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        """Send it once, read at most 64 KiB of the answer."""
        if not isinstance(call, HttpCall):
            return FailOutcome("not an http call")
        if (request := self._plain_request(call, job)) is None:
            return await self._over_aiohttp(call, job)
        return await waited_for(functools.partial(self._begun, call, request))

    async def close(self) -> None:
        """Close every connection."""
        if self._plain is not None:
            await self._plain.close()
        if self._session is not None:
            await self._session.close()
        self._names.close()

    def _begun(self, call: HttpCall, request: PlainRequest, ended: Ended) -> Callable[[], None]:
        if self._plain is None:
            self._plain = PlainClient(self._egress, self._names.addresses)
        return self._plain.send(request, functools.partial(self._found, call, ended))

    def _plain_request(self, call: HttpCall, job: Job) -> PlainRequest | None:
        if not self._may_be_plain or (place := place_of(call)) is None:
            return None
        try:
            return request_of(call, place, self._headers(call, job))
        except UnusableError:
            return None  # `run` meets it again and says why

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
            return _late(call)
        if isinstance(found, EgressRefused):
            return _refused(call, found)
        if isinstance(found, TransferError):
            return RetryOutcome("network", str(found))
        raise found

    def _answered(self, call: HttpCall, answer: HttpAnswer) -> Outcome:
        result = result_of(call, answer, self._redactor)
        value = next((value for name, value in answer.headers if name == "retry-after"), None)
        return of_status(call, answer.status, retry_after(value, self._now_s()), result)

    async def _over_aiohttp(self, call: HttpCall, job: Job) -> Outcome:
        aim = _Destination(call.url)
        token = _aim.set(aim)
        try:
            return await self._answer(call, job, aim)
        except UnusableFilesError as error:
            return RetryOutcome("network", str(error))
        except UnusableError as error:
            return FailOutcome(str(error))
        except TimeoutError:
            return _late(call)
        except EgressRefused as error:
            return _refused(call, error)
        except (self._aiohttp.ClientError, OSError, ValueError) as error:
            return self._broken(error) if aim.refusal is None else _refused(call, aim.refusal)
        finally:
            _aim.reset(token)

    async def _answer(self, call: HttpCall, job: Job, aim: _Destination) -> Outcome:
        aim.url = url = _url(call.url)
        check_name(url.host or "")
        async with self._opened().request(
            call.method,
            url,
            headers=self._headers(call, job),
            data=_body(call.body),
            allow_redirects=False,
            timeout=self._timeout(call.timeout_s, call.connect_timeout_s),
            ssl=True if call.tls is None else self._contexts.of(call.tls, call.tls_key),
        ) as response:
            text, cut = await _read(response)
            if cut:
                response.close()
        headers = [(name.lower(), value) for name, value in response.headers.items()]
        return self._answered(call, HttpAnswer(response.status, headers, text, cut))

    def _headers(self, call: HttpCall, job: Job) -> tuple[tuple[str, str], ...]:
        """The call's own, and the signatures that each attempt makes anew."""
        if call.sign is None:
            return call.headers
        return (*call.headers, *signatures(call, job.id, self._now_s()))

    def _opened(self) -> "aiohttp.ClientSession":
        """The session, made within the loop at the first call."""
        if self._session is None:
            aiohttp, response_bounds = self._aiohttp, self._receiving
            connector = response_bounds.BoundedConnector(
                limit=0,  # dispatch counts
                resolver=self._lookup_for(aiohttp),
                use_dns_cache=False,  # ours serves both clients
                socket_factory=self._socket,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                headers={"User-Agent": AGENT, "Accept-Encoding": "identity"},
                skip_auto_headers=("Content-Type",),
            )
        return self._session

    def _lookup_for(self, aiohttp: Any) -> Any:
        lookup = self._names.addresses

        class Resolver(aiohttp.abc.AbstractResolver):  # type: ignore[misc]
            async def resolve(self, host: str, port: int = 0, family: int = 0) -> Any:
                del family  # every address of the name; the connector tries them in turn
                addresses = await lookup(host)
                return [_resolved(host, address, port) for address in addresses]

            async def close(self) -> None:
                """Nothing is kept."""

        return Resolver()

    def _socket(self, info: Any) -> socket.socket:
        """The socket for one resolved address, or a refusal: the last gate before connect."""
        family, kind, proto, _, place = info
        aim = _aim.get()
        host = aim.url.host or ""
        try:
            literal = is_written(place[0], host, aim.written.lower())
            self._egress.check(place[0], host, literal=literal)
        except EgressRefused as error:
            aim.refusal = None if aim.tried else error
            raise
        aim.refusal, aim.tried = None, True
        return socket.socket(family, kind, proto)

    def _broken(self, error: Exception) -> Outcome:
        """Words of our own for a call without an answer."""
        aiohttp = self._aiohttp
        if isinstance(error, self._receiving.NoAnswerError):
            return RetryOutcome("network", str(error))
        certificate = isinstance(error, aiohttp.ClientConnectorCertificateError)  # a ValueError
        if isinstance(error, ValueError | aiohttp.NonHttpUrlClientError) and not certificate:
            return FailOutcome("the request cannot be written: a malformed URL or header")
        for kind, words in (
            (aiohttp.ClientConnectorCertificateError, "the certificate was not accepted"),
            (aiohttp.ClientSSLError, "the TLS handshake failed"),
            (aiohttp.ClientConnectorDNSError, "the name was not found"),
            (aiohttp.ClientConnectorError, "no connection"),
            (aiohttp.ServerDisconnectedError, "the connection was closed without an answer"),
            (aiohttp.ClientPayloadError, "the answer broke off"),
            (aiohttp.ClientResponseError, "the answer is not acceptable HTTP"),
        ):
            if isinstance(error, kind):
                tls = isinstance(error, aiohttp.ClientSSLError)  # whose numbers are OpenSSL's
                return RetryOutcome("network", words if tls else words + errno_words(error))
        return RetryOutcome("network", "the connection broke" + errno_words(error))


def _refused(call: HttpCall, error: EgressRefused) -> Outcome:
    """A name is tried again, as its resolver may answer otherwise. A secret address stays one."""
    origin, secret = _ORIGIN.match(call.shown_url), call.shown_url.startswith("***")
    host = "its host" if secret else error.host
    reason = f"{origin[0] if origin else '***'}: {host} {error.why}"
    return FailOutcome(reason) if error.lasting else RetryOutcome("network", reason)


def _late(call: HttpCall) -> RetryOutcome:
    return RetryOutcome("timeout", f"no answer within {call.timeout_s:g} s")


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


def _url(text: str) -> Any:
    """As written when every character may stand in a request line; else quoted again."""
    from yarl import URL  # noqa: PLC0415 - comes with aiohttp

    return URL(text, encoded=_PLAIN(text) is not None)


def _body(body: bytes) -> Any:
    if not body:
        return None
    return body if len(body) <= LARGE_BODY else _LargeBody(body)  # a stream is written in pieces


class _LargeBody(io.BytesIO):
    """Shares the bytes it is made of; who asks a plain one for its buffer makes it copy them."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self._shared = body

    def getbuffer(self) -> memoryview:
        return memoryview(self._shared)


def _resolved(host: str, address: str, port: int) -> dict[str, Any]:
    return {
        "hostname": host,
        "host": address,
        "port": port,
        "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
        "proto": 0,
        "flags": socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    }


async def _read(response: "aiohttp.ClientResponse") -> tuple[bytes, bool]:
    """The answer's first 64 KiB, and whether there is more."""
    kept = bytearray()
    while len(kept) <= ANSWER_MAX:
        if not (chunk := await response.content.read(ANSWER_MAX + 1 - len(kept))):
            return bytes(kept), False
        kept += chunk
    return bytes(kept[:ANSWER_MAX]), True
