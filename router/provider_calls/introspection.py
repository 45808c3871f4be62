"""
Asking who issued a bearer token whether it holds (RFC 7662): within a second, or not at all.

A good answer is remembered until the token ends, at most a minute; a bad one is not.
"""

from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from urllib.parse import quote_plus, urlencode

from router.clock import Clock
from router.log import Log
from router.provider_calls.answers import ApiAnswer, CallFailedError, Sends
from router.provider_calls.fetches import Fetches
from router.providers.introspected import told_by
from router.providers.management import ApiRequest, Promise
from router.providers.waiting import Introspection
from router.rules.live import LiveRuleset

TIMEOUT_S = 1.0
REMEMBERED_S = 60.0
REMEMBERED_MAX = 1000
ANSWER_BYTES_MAX = 64 * 1024
_ANSWER = Promise((200,))

_Key = tuple[str, str, str, bytes]


class Introspector:
    """Asks, and remembers. `open_client` gives a client for an address that ends in time."""

    def __init__(
        self,
        *,
        open_client: Callable[[str], AbstractAsyncContextManager[Sends]],
        clock: Clock,
        log: Log,
        fetches: Fetches | None = None,
    ) -> None:
        self._fetches = fetches or Fetches()
        self._open, self._clock, self._log = open_client, clock, log
        self._good: OrderedDict[_Key, tuple[float, bytes]] = OrderedDict()

    def remembered(self, ask: Introspection) -> bytes | None:
        """The good answer about a token of a moment ago; None: it must be asked for."""
        until, answer = self._good.get(_key(ask), (0.0, b""))
        return answer if until > self._clock.monotonic() else None

    async def ask(self, live: LiveRuleset, ask: Introspection) -> bytes | None:
        """The answer about a token, asked for with the client's secret; None: there is none."""
        self._good.pop(_key(ask), None)
        secret = live.secrets.value(ask.client_secret)
        try:
            async with self._open(ask.url) as client:
                came = await client.send(request(ask, secret))
        except CallFailedError as error:
            self._failed(ask.url, str(error))
            return None
        if not came.ok or len(came.body) > ANSWER_BYTES_MAX or told_by(came.body) is None:
            self._failed(ask.url, _unlike(came))
            return None
        self._fetches.good(ask.url, "token issuer", self._clock.now())
        self._remember(_key(ask), came.body)
        return came.body

    def _failed(self, url: str, words: str) -> None:
        self._fetches.failed(url, "token issuer", self._clock.now(), words)
        self._log.warning("a token's issuer did not answer", url=url, reason=words)

    def _remember(self, key: _Key, answer: bytes) -> None:
        told = told_by(answer)
        if told is None or told.active is not True:
            return
        now_s = self._clock.now() / 1000
        latest = now_s + REMEMBERED_S
        ends = latest if told.exp is None else min(told.exp, latest)
        if ends > now_s:
            self._good[key] = (self._clock.monotonic() + ends - now_s, answer)
        if len(self._good) > REMEMBERED_MAX:
            self._good.popitem(last=False)


def _key(ask: Introspection) -> _Key:
    """A token is known by its hash alone: memory holds none."""
    return ask.url, ask.client_id, ask.client_secret, sha256(ask.token).digest()


def _unlike(answer: ApiAnswer) -> str:
    """What it is in place of an answer about a token, which it is not to be quoted in."""
    if answer.ok:
        return "the answer says nothing of a token"
    return answer.unlike or f"HTTP {answer.status}"


def request(wanted: Introspection, secret: bytes) -> ApiRequest:
    """The question (RFC 7662, 2.1), from a client that proves itself (RFC 6749, 2.3.1)."""
    client = quote_plus(wanted.client_id), quote_plus(secret.strip())
    headers = (
        ("Authorization", f"Basic {b64encode(':'.join(client).encode()).decode()}"),
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Accept", "application/json"),
    )
    form = {"token": wanted.token, "token_type_hint": "access_token"}
    return ApiRequest("POST", wanted.url, headers, _ANSWER, urlencode(form).encode("ascii"))
