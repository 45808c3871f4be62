"""
The short way in: small POSTs that became whole in one turn of the event loop go through the intake
together, and are answered from the protocol without an application between.

It has the limits, words and bytes of the general way (`router.web.ingest`); whatever is unusual
about a request sends it there.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence

from router import log
from router.clock import Clock
from router.intake import Arrival, Intake
from router.intake.reply import Reply
from router.model.delivery import InboundRequest
from router.rules.live import LiveEndpoint
from router.web.answers import IngestRefusal, refusal_bytes, reply_bytes
from router.web.budget import Budget
from router.web.client_address import Peers
from router.web.small_post import SmallPost

GROUP_MAX = 64
GROUP_BYTES = 262_144
"""A group ends before the body that would make it larger than this."""
TURN_S = 0.01
"""A group ends when its requests have taken so long to judge: the rest of the loop has a turn."""
ALONE_S = 0.02
"""So long a group waits for the commit of the one before."""


class IngestGroup:
    """
    Small POSTs on their way through the intake. Belongs to one event loop.

    Endpoints that have some ready take turns, so that one busy sender holds up nobody else. A group
    has gathered while the one before was committed: the loop and the store's writer need the same
    interpreter, and side by side each takes half as long again. For a slow commit it waits only
    `alone_s`, and after a group that took its whole turn not at all.
    """

    def __init__(
        self,
        intake: Intake,
        *,
        clock: Clock,
        peers: Peers,
        budget: Budget,
        alone_s: float = ALONE_S,
    ) -> None:
        self._intake, self._alone_s = intake, alone_s
        self._now, self._monotonic = clock.now, clock.monotonic
        self._peers = peers
        self._budget = budget
        self._log = log.get("web.ingest")
        self._ready = OrderedDict[str, deque[SmallPost]]()
        self._each_s = 0.0  # what one has taken of late, while others waited
        self._taken_at, self._taken = 0.0, 0  # the last group, if others wait since
        self._walking: asyncio.TimerHandle | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        """One for each group that is under way; every ready request has one to come."""

    def endpoint(self, raw_path: bytes) -> LiveEndpoint | None:
        """The endpoint at exactly this raw path, if it takes POSTs and asks nobody about them."""
        found = self._intake.find(raw_path)
        if found is None or found.waits or "POST" not in found.methods:
            return None
        return found

    def expected_s(self, endpoint: LiveEndpoint) -> float:
        """How long one more of this endpoint has to expect to wait for its turn."""
        waiting = self._ready.get(endpoint.name)
        return len(waiting) * len(self._ready) * self._each_s if waiting else 0.0

    def hold(self, post: SmallPost, size: int) -> bool:
        """Reserve memory for a body that did not come at once; False: it has to wait for some."""
        if not self._budget.take_now(size):
            return False
        post.held = size
        return True

    def release(self, post: SmallPost) -> None:
        """Give back what a request holds of the memory for bodies."""
        self._budget.give(post.held)
        post.held = 0

    def offer(self, post: SmallPost) -> None:
        """Take a whole request; it goes in this turn's group or one of the next turns'."""
        if not post.held and self._budget.take_whole(len(post.body)):
            post.held = len(post.body)
        name = post.endpoint.name
        waiting = self._ready.get(name)
        if waiting is None:
            self._ready[name] = deque((post,))
        else:
            waiting.append(post)
        if self._walking is None:
            self._walk_next()

    def _walk_next(self) -> None:
        loop = asyncio.get_running_loop()
        self._walking = loop.call_later(self._alone_s, self._walk_on)
        task = loop.create_task(self._walk(self._walking))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _walk_on(self) -> None:
        """The next group may begin."""
        self._walking = None
        if self._ready:
            self._walk_next()

    async def _walk(self, alone: asyncio.TimerHandle) -> None:
        posts = list[SmallPost]()
        try:
            if self._ready:  # else the one before began after its timer and took them all
                await self._intake.accept_group(self._admitted(posts), self._answer)
        except Exception as error:  # noqa: BLE001 - the last net: the senders must get 503
            if not posts and self._ready:  # it would come here again and again
                posts.append(self._next())
            self._failed(posts, error)
        finally:
            for post in posts:  # also those that nobody waits for or that were refused
                if post.held:
                    self.release(post)
            if self._walking is alone:
                self._walk_at_once()

    def _next(self) -> SmallPost:
        """One of the endpoint whose turn it is, which then stands behind the others."""
        name, waiting = next(iter(self._ready.items()))
        post = waiting.popleft()
        if waiting:
            self._ready.move_to_end(name)
        else:
            del self._ready[name]
        return post

    def _measure(self, now: float) -> None:
        """A queue that ends says that one takes less than was thought, but not how much."""
        if self._taken:
            self._each_s += ((now - self._taken_at) / self._taken - self._each_s) / 4
        else:
            self._each_s /= 2
        self._taken_at, self._taken = now, 0

    def _admitted(self, posts: list[SmallPost]) -> Iterator[Arrival]:
        """
        The next group, which `posts` gathers: one of each endpoint, then again, each when the one
        before has been judged, until there is no room or the turn is over. Who has waited too long
        or finds no memory is refused.
        """
        now, began = self._now(), self._monotonic()
        self._measure(began)
        room = GROUP_BYTES
        while self._ready and len(posts) < GROUP_MAX:
            room -= len(next(iter(self._ready.values()))[0].body)
            if posts and room < 0:
                break
            if posts and self._monotonic() >= began + TURN_S:
                self._walk_at_once()
                break
            post = self._next()
            posts.append(post)
            if post.disconnected:
                continue
            try:
                headers = tuple(post.headers)
                peer = self._peers.sender(post.connection.peer, headers)
                self._admit(post)
                request = InboundRequest(
                    "POST", post.path, post.query, headers, post.body, peer, now
                )
            except IngestRefusal as refused:
                self._intake.refuse(post.endpoint, refused.word, refused.status, peer, headers)
                self._refuse(post, refused)
            except Exception as error:  # noqa: BLE001 - of one request, and no other's
                self._failed((post,), error)
            else:
                yield Arrival(post.endpoint, request, post)
        self._taken = len(posts) if self._ready else 0

    def _walk_at_once(self) -> None:
        """The next group begins now."""
        if self._walking is not None:
            self._walking.cancel()
        self._walk_on()

    def _admit(self, post: SmallPost) -> None:
        if post.connection.is_late():
            raise IngestRefusal(503, "busy", keep_alive=True)
        if not post.held:
            if not self._budget.take_whole(len(post.body)):
                raise IngestRefusal(503, "busy")
            post.held = len(post.body)

    def _answer(self, arrival: Arrival, reply: Reply) -> None:
        post: SmallPost = arrival.sender
        post.answered, keep_alive = True, post.keep_alive
        self.release(post)
        if not post.disconnected:
            answer = reply_bytes(reply, keep_alive=keep_alive)
            post.connection.answer_small(post, answer, close=reply.close or not keep_alive)

    def _refuse(self, post: SmallPost, refused: IngestRefusal) -> None:
        post.answered = True
        if not post.disconnected:
            answer = refusal_bytes(refused, keep_alive=post.keep_alive)
            close = not (refused.keep_alive and post.keep_alive)
            post.connection.answer_small(post, answer, close=close)

    def _failed(self, posts: Sequence[SmallPost], error: Exception) -> None:
        """A fault of ours: whoever has no answer yet gets 503."""
        word = "busy" if isinstance(error, MemoryError) else "unavailable"
        if word == "busy":
            self._log.error("no memory for a request")
        else:
            self._log.error("request failed", error=repr(error), exc_info=error)
        for post in posts:
            if not post.answered:
                self._refuse(post, IngestRefusal(503, word))
