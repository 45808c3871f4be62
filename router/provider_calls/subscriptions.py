"""
Subscriptions made one after the other: within the sender's limits, each recorded before it is
requested and after the answer, so that a run that was cut off can be continued.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from router.clock import Clock
from router.model.subscription import Subscription, fact_name
from router.provider_calls.answers import ApiAnswer, CallFailedError, Sends, refused
from router.provider_calls.rate_limit import Pace
from router.providers import management
from router.providers.management import (
    Access,
    ApiRequest,
    BadAnswerError,
    NotSubscribed,
    Subscribed,
    notify,
    read_scopes,
    read_subscribed,
    read_subscribed_graphql,
    read_throttled,
    subscribe,
    subscribe_graphql,
)

WAITS_MAX = 5
WAIT_MAX_S = 60.0
WAIT_S = 2.0
"""What a 429 without a Retry-After is taken to ask for."""

STOPPED = "stopped after the error before"

Outcome = Literal["made", "refused", "unsure", "not asked"]


class SubscriptionResult(msgspec.Struct, frozen=True):
    """What became of one topic; `words` say why, where it was not made."""

    topic: str
    address: str
    outcome: Outcome
    id: str | None = None
    words: str | None = None


Keep = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Makes facts durable; None as a value forgets one."""


class SubscriptionApi(msgspec.Struct, frozen=True):
    """How subscriptions are requested: REST, or GraphQL at `path` (None: the definition's)."""

    graphql: bool = False
    path: str | None = None


class Subscriber:
    """
    Makes the subscriptions of one endpoint.

    `known` are the records of earlier runs, by the names of their facts: whatever comes of asking
    again, what they say of a subscription stays known.
    """

    def __init__(
        self,
        client: Sends,
        access: Access,
        *,
        way: SubscriptionApi,
        clock: Clock,
        keep: Keep,
        pace: Pace,
        known: Mapping[str, Subscription],
    ) -> None:
        self._client = client
        self._access = access
        self._way = way
        self._clock = clock
        self._keep = keep
        self._pace = pace
        self._known = dict(known)

    async def run(
        self,
        endpoint: str,
        wanted: Iterable[tuple[str, str]],
        *,
        on_result: Callable[[SubscriptionResult], None] = lambda _: None,
    ) -> list[SubscriptionResult]:
        """
        Ask for each (topic, address) in turn; `on_result` gets each as it ends.

        What is said about one topic ends there; what says that no call can succeed now (no
        connection, no answer, a token that is not accepted, a failing server) ends the run.
        """
        results: list[SubscriptionResult] = []
        over: str | None = None
        for topic, address in wanted:
            if over is None:
                result, over = await self._one(endpoint, topic, address)
            else:
                result = SubscriptionResult(topic, address, "not asked", words=over)
            results.append(result)
            on_result(result)
        return results

    async def _one(
        self, endpoint: str, topic: str, address: str
    ) -> tuple[SubscriptionResult, str | None]:
        """What became of it, and why to go no further."""
        await self._pace.turn()
        name = fact_name(self._access.base, topic, address)
        before, now = self._known.get(name), self._clock.now()
        record = Subscription(endpoint, topic, address, self._access.base, "asked", now)
        if before is not None:
            record = msgspec.structs.replace(before, endpoint=endpoint, asked_at=now)
        await self._note(name, record)
        try:
            answer = await self._answer(topic, address)
            found = self._read(answer)
        except (CallFailedError, BadAnswerError) as error:
            if isinstance(error, BadAnswerError) or error.arrived:  # perhaps it was made
                return SubscriptionResult(topic, address, "unsure", words=str(error)), STOPPED
            await self._note(name, before)
            return SubscriptionResult(topic, address, "refused", words=str(error)), str(error)
        if isinstance(found, Subscribed):
            return await self._made(name, record, found.id), None
        if found.taken and before is not None and before.state == "asked":
            return await self._made(name, record, before.id), None  # by the call nobody answered
        await self._note(name, before)
        over = STOPPED if _hopeless(answer.status) else None
        return SubscriptionResult(topic, address, "refused", words="; ".join(found.problems)), over

    async def _made(
        self, name: str, record: Subscription, identity: str | None
    ) -> SubscriptionResult:
        await self._note(name, msgspec.structs.replace(record, state="made", id=identity))
        return SubscriptionResult(record.topic, record.address, "made", identity)

    async def _note(self, name: str, record: Subscription | None) -> None:
        """Make durable what is known now; None: nothing."""
        await self._keep({name: None if record is None else msgspec.to_builtins(record)})
        self._known.pop(name, None)
        if record is not None:
            self._known[name] = record

    async def _answer(self, topic: str, address: str) -> ApiAnswer:
        """The first answer that is not "too many", waiting as long as the sender asks."""
        if self._way.graphql:
            request = subscribe_graphql(self._access, topic, address, path=self._way.path)
        else:
            request = subscribe(self._access, topic, address)
        return await patient(self._client, request, clock=self._clock, pace=self._pace)

    def _read(self, answer: ApiAnswer) -> Subscribed | NotSubscribed:
        if answer.status >= 500 or answer.unlike is not None:
            raise BadAnswerError(refused(answer, self._access.token))
        if not answer.ok:
            return NotSubscribed((refused(answer, self._access.token),))
        if self._way.graphql:
            return read_subscribed_graphql(answer.body)
        return read_subscribed(answer.body)


async def patient(client: Sends, request: ApiRequest, *, clock: Clock, pace: Pace) -> ApiAnswer:
    """
    The answer to a request that is sent again, later, while the sender says that there are too
    many: `429`, or GraphQL's error `THROTTLED`. The caller has taken the first turn.

    Raises:
        CallFailedError: there is no answer.
    """
    answer = await _sent(client, request, pace)
    for _ in range(WAITS_MAX):
        wait_s = throttled_s(answer)
        if wait_s is None:
            break
        await clock.sleep(min(wait_s, WAIT_MAX_S))
        await pace.turn()
        answer = await _sent(client, request, pace)
    return answer


def throttled_s(answer: ApiAnswer) -> float | None:
    """How long a sender wants us to wait before the same is sent again, None: not at all."""
    if answer.status == 429:
        return WAIT_S if answer.retry_after_s is None else answer.retry_after_s
    if not answer.ok:
        return None
    cost = read_throttled(answer.body)
    return None if cost is None else max(cost, WAIT_S)


async def _sent(client: Sends, request: ApiRequest, pace: Pace) -> ApiAnswer:
    try:
        return await client.send(request)
    finally:
        pace.ended()


async def granted_scopes(
    client: Sends, access: Access, *, clock: Clock, pace: Pace
) -> tuple[str, ...]:
    """
    The scopes that the token has.

    Raises:
        BadAnswerError, CallFailedError: the sender does not say.
    """
    await pace.turn()
    answer = await patient(client, management.granted_scopes(access), clock=clock, pace=pace)
    if not answer.ok:
        raise BadAnswerError(refused(answer, access.token))
    return read_scopes(access, answer.body)


async def send_test(
    client: Sends, access: Access, webhook_id: str, *, clock: Clock, pace: Pace
) -> str | None:
    """
    Ask for a test notification of one subscription; what the sender says against it, or None.

    Raises:
        CallFailedError: there is no answer.
    """
    await pace.turn()
    answer = await patient(client, notify(access, webhook_id), clock=clock, pace=pace)
    return None if answer.ok else refused(answer, access.token)


def _hopeless(status: int) -> bool:
    """Whether every further call would end so: the token, the address or the version is wrong."""
    return status in (401, 403, 404, 429) or 300 <= status < 400
