"""Groups: small requests that became whole in one turn of the loop share one commit."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator

from router.clock import Clock
from router.intake import Arrival, Intake
from router.intake.reply import Reply
from router.model.delivery import InboundRequest
from router.rules.live import LiveEndpoint
from router.web.answers import IngestRefusal
from router.web.door import Door
from router.web.wire_request import WireRequest

GROUP_MAX = 64
GROUP_BYTES = 262_144
"""A group ends before the body that would make it larger than this."""
TURN_S = 0.01
"""A group ends when judging its requests took this long: the rest of the loop has a turn."""
ALONE_S = 0.02
"""How long a group waits for the commit of the one before."""


class IngestGroup:
    """
    Small requests on their way through the intake. Belongs to one event loop.

    Endpoints take turns, so one busy sender does not hold up the others. The next group collects
    requests while the store commits the previous one: both at once are slower, as they share one
    interpreter (1.5 times each, measured). It waits at most `alone_s` for a slow commit, and not at
    all after a group that used its whole turn.

    `inbound` returns what the intake takes of a request, or raises IngestRefusal. It gets the time
    in Unix milliseconds, and in the loop's seconds.
    """

    def __init__(
        self,
        door: Door,
        intake: Intake,
        inbound: Callable[[WireRequest, int, float], InboundRequest],
        *,
        clock: Clock,
        alone_s: float = ALONE_S,
    ) -> None:
        self._door, self._intake, self._inbound = door, intake, inbound
        self._now, self._monotonic = clock.now, clock.monotonic
        self._alone_s = alone_s
        self._ready = OrderedDict[str, deque[WireRequest]]()
        self._each_s = 0.0  # recent time for each request, while others waited
        self._taken_at, self._taken = 0.0, 0  # the last group, if others wait since
        self._next_group: asyncio.TimerHandle | None = None

    def expected_s(self, endpoint: LiveEndpoint) -> float:
        """Return how long one more request of this endpoint will wait for its turn."""
        ready = self._ready.get(endpoint.name)
        return len(ready) * len(self._ready) * self._each_s if ready else 0.0

    def offer(self, request: WireRequest) -> None:
        """Take a whole request; it goes in this turn's group or in one of the next."""
        name = request.endpoint.name
        ready = self._ready.get(name)
        if ready is None:
            self._ready[name] = deque((request,))
        else:
            ready.append(request)
        if self._next_group is None:
            self._begin()

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        self._next_group = loop.call_later(self._alone_s, self._go_on)
        self._door.spawn(self._run(self._next_group))

    def _go_on(self) -> None:
        """Begin the next group, if any request is ready."""
        self._next_group = None
        if self._ready:
            self._begin()

    def _go_on_now(self) -> None:
        if self._next_group is not None:
            self._next_group.cancel()
        self._go_on()

    async def _run(self, alone: asyncio.TimerHandle) -> None:
        group = list[WireRequest]()
        try:
            if self._ready:  # else the previous group began after its timer and took them all
                await self._intake.accept_group(self._arrivals(group), self._answer)
        except Exception as error:  # noqa: BLE001 - the last net: the senders must get 503
            if not group and self._ready:  # it would fail again and again
                group.append(self._take(*next(iter(self._ready.items()))))
            self._door.fail(group, error)
        finally:
            for request in group:  # also those that are disconnected or refused
                if request.held:
                    self._door.release(request)
            if self._next_group is alone:
                self._go_on_now()

    def _take(self, name: str, ready: deque[WireRequest]) -> WireRequest:
        """Take one request of this endpoint, which then goes behind the others."""
        request = ready.popleft()
        if ready:
            self._ready.move_to_end(name)
        else:
            del self._ready[name]
        return request

    def _measure(self, now: float) -> None:
        """Update `_each_s`. A queue that ended shows that it is less, but not how much."""
        if self._taken:
            self._each_s += ((now - self._taken_at) / self._taken - self._each_s) / 4
        else:
            self._each_s /= 2
        self._taken_at, self._taken = now, 0

    def _arrivals(self, group: list[WireRequest]) -> Iterator[Arrival]:
        """
        Yield the next group and gather it in `group`: one request of each endpoint, then again.

        The intake asks for each when it has judged the one before. The group ends when it is full,
        or its turn is over.
        """
        now, began = self._now(), self._monotonic()
        ends, now_s = began + TURN_S, asyncio.get_running_loop().time()
        self._measure(began)
        room = GROUP_BYTES
        while self._ready and len(group) < GROUP_MAX:
            name, ready = next(iter(self._ready.items()))
            room -= len(ready[0].body)
            if group and room < 0:
                break
            if group and self._monotonic() >= ends:
                self._go_on_now()
                break
            group.append(request := self._take(name, ready))
            if request.disconnected:
                continue
            try:
                inbound = self._inbound(request, now, now_s)
            except IngestRefusal as refused:
                self._door.refuse(request, refused)
            except Exception as error:  # noqa: BLE001 - of one request, and no other's
                self._door.fail((request,), error)
            else:
                yield Arrival(request.endpoint, inbound, request)
        self._taken = len(group) if self._ready else 0

    def _answer(self, arrival: Arrival, reply: Reply) -> None:
        request: WireRequest = arrival.sender
        self._door.release(request)
        request.answer(reply)
