"""
All that the author of a plugin imports.

    from router.plugin import Context, Event, Fail, Retry

    async def notify(event: Event, context: Context, *, text: str) -> dict[str, int]:
        answer = await context.http.post(context.secrets["chat"], json={"text": text})
        if answer.status_code == 429:
            raise Retry(after=30, reason="the chat is busy")
        answer.raise_for_status()
        return {"status": answer.status_code}

A plain `def` takes a `PlainContext`, whose `http` is a plain client. What a function returns is
JSON, 64 KiB at most. Fractions in a payload are `decimal.Decimal`; `to_json` writes them back
digit for digit.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    import httpx

__all__ = ["Context", "Event", "Fail", "PlainContext", "Retry", "Secrets", "to_json"]

C = TypeVar("C")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ENCODER = msgspec.json.Encoder(decimal_format="number")


class Retry(Exception):
    """
    Raise it to have the job tried again: after so many seconds, or at the policy's next delay.

    `reason` is kept with the attempt.
    """

    def __init__(self, after: float | None = None, reason: str = "") -> None:
        if after is not None and (isinstance(after, bool) or not isinstance(after, int | float)):
            raise TypeError("Retry(after=SECONDS, reason=TEXT): after is a number or None")
        super().__init__(reason or "try again")
        self.after = after
        self.reason = reason or "try again"


class Fail(Exception):
    """Raise it to have the job given up: it is dead at once, with this reason."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or "must not be tried again")
        self.reason = reason or "must not be tried again"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """
    What happened, and which run of which job this is. Every field has a default, for tests.

    `name` is as rules name it (`orders/paid`). `headers` have lower-case names; credentials in
    them are `[removed]`. `fields` are the names that the provider adds (`shop`, `branch`).
    `body` is the exact bytes: of this event alone where the sender sends batches. In a run for a
    whole batch (`per: delivery`) `events` are the payloads that matched, `payload` the first of
    them, and `body` is the batch.
    `idempotency_key` is the job's id: the same at every attempt, new on a replay. `attempt`
    counts from 1. `replay_of` names what was replayed, None for an ordinary run.
    """

    payload: Any = None
    events: list[Any] = []
    name: str = ""
    action: str | None = None
    headers: dict[str, str] = {}
    query: str = ""
    fields: dict[str, Any] = {}
    endpoint: str = ""
    provider: str = ""
    delivery: str = ""
    id: str = ""
    index: int = 0
    count: int = 1
    received_at: datetime = _EPOCH
    rule: str = ""
    idempotency_key: str = ""
    attempt: int = 1
    replay_of: str | None = None
    body: bytes = b""


class Secrets(Mapping[str, str]):
    """The secrets that the action names, by name; printing shows the names alone."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        if name not in self._values:
            raise KeyError(f"the action does not name a secret {name!r}: write secrets: [{name}]")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"


class _Context(Generic[C]):
    """
    What both kinds of context have.

    `logger` writes to the attempt's captured stderr. `egress` are private ranges that may be
    called; `hosts` are hosts that the operator wrote down, beside those of the secrets.
    `traceparent` is the attempt's span while the router records traces, else None; what `http`
    sends bears it.
    """

    _client: C | None = None

    def __init__(
        self,
        *,
        secrets: Mapping[str, str] | None = None,
        attempt: int = 1,
        egress: Iterable[str] = (),
        hosts: Iterable[str] = (),
        logger: logging.Logger | None = None,
        traceparent: str | None = None,
    ) -> None:
        self.secrets = Secrets(secrets or {})
        self.attempt = attempt
        self.logger = logger or logging.getLogger("plugin")
        self.traceparent = traceparent
        self._egress = tuple(egress)
        self._hosts = frozenset(hosts) | hosts_of(self.secrets.values())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(attempt={self.attempt}, secrets={self.secrets!r})"

    def using(self, client: C) -> Self:
        """The same context with a client of your own: for tests of a plugin."""
        self._client = client
        return self


class Context(_Context["httpx.AsyncClient"]):
    """What an `async def` gets beside the event: secrets, a logger, an HTTP client."""

    @property
    def http(self) -> "httpx.AsyncClient":
        """
        A client whose every connection is checked by the egress rules.

        It takes no proxy from the environment and follows no redirects. An address that may not
        be called raises an OSError, which ends the job.
        """
        if self._client is None:
            from router import plugin_http  # noqa: PLC0415 - a plugin without calls is spared httpx

            self._client = plugin_http.async_client(
                self._egress, self._hosts, traceparent=self.traceparent
            )
        return self._client

    async def close(self) -> None:
        """Close the client's connections; the router does it after each call."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


class PlainContext(_Context["httpx.Client"]):
    """What a plain `def` gets beside the event: secrets, a logger, an HTTP client."""

    @property
    def http(self) -> "httpx.Client":
        """A client whose every connection is checked by the egress rules; see `Context.http`."""
        if self._client is None:
            from router import plugin_http  # noqa: PLC0415 - a plugin without calls is spared httpx

            self._client = plugin_http.plain_client(self._egress, self._hosts, self.traceparent)
        return self._client

    def close(self) -> None:
        """Close the client's connections; the router does it after each call."""
        if self._client is not None:
            self._client.close()
            self._client = None


def to_json(value: Any) -> bytes:
    """A payload, or any JSON value, as JSON text; decimals keep their digits."""
    return _ENCODER.encode(value)


def hosts_of(texts: Iterable[str]) -> frozenset[str]:
    """The hosts of those texts that are URLs, lower case, without brackets."""
    found = set()
    for text in texts:
        if "://" in text:
            try:
                found.add(urlsplit(text.strip()).hostname or "")
            except ValueError:
                continue  # no URL after all
    return frozenset(found - {""})
