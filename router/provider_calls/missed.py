"""The calls of a recovery: pages of missed deliveries, the hook, redelivery; within the limits."""

from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from router.clock import Clock
from router.errors import RouterError
from router.provider_calls.answers import ApiAnswer, CallFailedError, Sends, refused
from router.provider_calls.rate_limit import Pace
from router.providers.management import Access, ApiRequest, BadAnswerError
from router.providers.missed import (
    ListedPage,
    Missed,
    hook_list,
    missed_list,
    read_hook_id,
    read_page,
    recover_rule,
    redelivery,
)

TRIES = 3
RETRY_S = 2.0
WAIT_MAX_S = 60.0
"""A sender that wants a longer pause is left alone: the next run goes on."""
PAGES_MAX = 1_000


T = TypeVar("T")


class StoppedError(RouterError):
    """
    A run cannot go on: the text says why. `wait_s`: the sender wants no call for so long.
    """

    def __init__(self, words: str, wait_s: float = 0.0) -> None:
        super().__init__(words)
        self.wait_s = wait_s


class MissedDeliveries:
    """What one sender could not deliver to one hook. `hook` is a path of the sender's API."""

    def __init__(
        self, client: Sends, access: Access, hook: str, *, clock: Clock, addresses: tuple[str, ...]
    ) -> None:
        self._client, self._access, self._hook = client, access, hook
        self._clock, self._addresses = clock, addresses
        self._rule = recover_rule(access)
        self._pace = Pace(clock, self._rule.per_s)
        self._free_at = clock.monotonic()

    async def pages(self, since: int) -> AsyncIterator[ListedPage]:
        """
        What the sender has tried since then (Unix milliseconds), newest first.

        Raises:
            StoppedError: it says no more.
        """
        await self._find_hook()
        place: str | None = None
        for _ in range(PAGES_MAX):
            request = missed_list(self._access, self._hook, since, place)
            answer = await self._answered(request)
            page = _read(lambda: read_page(self._rule, answer.body, answer.link))  # noqa: B023
            kept = tuple(item for item in page.items if item.at >= since)
            yield ListedPage(kept, page.next)
            if page.next is None or page.next == place or len(kept) < len(page.items):
                return
            place = page.next

    async def redeliver(self, missed: Missed) -> str | None:
        """
        Have the sender deliver one again; what it says against that, or None.

        Raises:
            StoppedError: no call can succeed now.
        """
        answer = await self._send(redelivery(self._access, self._hook, missed))
        return None if answer.ok else self._against(answer)

    async def _find_hook(self) -> None:
        if self._hook.endswith("/{id}"):
            answer = await self._answered(hook_list(self._access, self._hook))
            found = _read(lambda: read_hook_id(self._rule, answer.body, self._addresses))
            self._hook = self._hook.replace("{id}", found)

    async def _answered(self, request: ApiRequest) -> ApiAnswer:
        """An answer that is the one asked for. Raises StoppedError: there is none."""
        answer = await self._send(request)
        if not answer.ok:
            raise StoppedError(self._against(answer))
        return answer

    async def _send(self, request: ApiRequest) -> ApiAnswer:
        """The answer, when the sender has time for it. Raises StoppedError."""
        words = ""
        for number in range(TRIES):
            await self._turn()
            try:
                answer = await self._client.send(request)
            except CallFailedError as error:
                self._pace.ended()
                if not error.arrived:
                    raise StoppedError(str(error)) from None
                words = str(error)
                await self._clock.sleep(RETRY_S * (number + 1))
                continue
            self._pace.ended()
            wait_s = _pause_of(answer)
            self._free_at = self._clock.monotonic() + (wait_s or 0.0)
            if answer.status == 401:
                raise StoppedError(self._against(answer))
            if answer.status < 500 and (answer.ok or wait_s is None):
                return answer
            words = self._against(answer)
            if wait_s is None:
                await self._clock.sleep(RETRY_S * (number + 1))
        raise StoppedError(words)

    async def _turn(self) -> None:
        """Wait until the sender allows the next call. Raises StoppedError: that is too long."""
        wait_s = self._free_at - self._clock.monotonic()
        if wait_s > WAIT_MAX_S:
            raise StoppedError(f"the sender allows no more calls for {wait_s:.0f} s", wait_s)
        if wait_s > 0:
            await self._clock.sleep(wait_s)
        await self._pace.turn()

    def _against(self, answer: ApiAnswer) -> str:
        words = refused(answer, self._access.token)
        if answer.status in (401, 403, 404):
            what = "is not accepted, perhaps it has expired" if answer.status == 401 else "may not"
            return f"{words}: the token {what}; needed: {self._rule.needs}"
        return words


def _read(read: Callable[[], T]) -> T:
    try:
        return read()
    except BadAnswerError as error:
        raise StoppedError(str(error)) from None


def _pause_of(answer: ApiAnswer) -> float | None:
    """How long the sender wants to be left alone, None: not at all."""
    waits = [wait for wait in (answer.retry_after_s, answer.used_up_s) if wait is not None]
    if answer.status == 429:
        return max(waits, default=RETRY_S)
    return max(waits, default=None) if answer.status == 403 or answer.ok else None
