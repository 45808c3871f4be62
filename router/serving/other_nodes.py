"""What only the node that has it knows, asked of the other nodes of a shared store."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from router.errors import NotFound, StoreUnavailable
from router.operator.answers import JobOutput, RefusalList, RefusedRequest, Unasked
from router.serving.node_client import NodeClient, NotAsked
from router.store.reads import StoreReads
from router.store.values import node_of

T = TypeVar("T")

UNREACHABLE = "other machines cannot reach its admin listener: set server.admin.advertise there"


class _Peer(NamedTuple):
    """A node that lives: its number, what it is called here, and where it can be asked."""

    number: str
    name: str
    admin: str | None


class OtherNodes:
    """
    Asks nodes side by side; one that cannot be asked is named, and holds up no other. `node` is
    this one's number.
    """

    def __init__(self, reads: StoreReads, client: NodeClient, *, node: Callable[[], str]) -> None:
        self._reads, self._client, self.node = reads, client, node

    async def refusals(self, own: Sequence[dict[str, Any]], limit: int) -> RefusalList:
        """The newest refusals of all nodes, `own` among them, each with the name of its node."""
        try:
            peers = await self._peers()
        except StoreUnavailable:
            why = "the store, which knows them, cannot be reached"
            return RefusalList(list(own), (Unasked("other routers", why),))
        others, unasked = await self._ask(peers.values(), "/api/refusals", RefusalList, limit=limit)
        found = {number: answer.refusals for number, answer in others.items()}
        found[self.node()] = list(own)
        named = [
            {**one, "node": peers[number].name if number in peers else number}
            for number, several in found.items()
            for one in several
        ]
        return RefusalList(sorted(named, key=_newest_first)[:limit], unasked)

    async def refusal(self, wanted: str, endpoint: str | None) -> RefusedRequest | None:
        """
        The one of this id, or for `last` the newest that any other node has; None: none has it.

        Raises:
            NotFound: the node that may have it cannot be asked.
        """
        peers: Iterable[_Peer] = (await self._peers()).values()
        if wanted != "last":
            peers = [one for one in peers if wanted.startswith(f"ref_{one.number}_")]
        query = {"id": wanted} if endpoint is None else {"id": wanted, "endpoint": endpoint}
        found, unasked = await self._ask(peers, "/api/refusal", RefusedRequest, **query)
        if unasked and wanted != "last":
            (node,) = unasked
            raise NotFound(f"{wanted} is kept by {node.node}, which cannot be asked: {node.why}")
        return max(found.values(), key=lambda one: one.at, default=None)

    async def output(self, job: str, after: str) -> JobOutput:
        """What the command of a job that runs on another node has written since `after`."""
        found = await self._reads.job(job)
        if found is None or found.lease is None:
            return JobOutput(running=False)
        holder = (await self._peers()).get(node_of(found.lease))
        if holder is None or holder.number == self.node():
            return JobOutput(running=False)
        answers, unasked = await self._ask(
            [holder], "/api/output", JobOutput, job=found.id, after=after
        )
        answer = answers.get(holder.number, JobOutput(running=False))
        unasked_why = unasked[0].why if unasked else None
        return msgspec.structs.replace(answer, node=holder.name, unasked=unasked_why)

    async def close(self) -> None:
        """Nobody is asked any more."""
        await self._client.close()

    async def _peers(self) -> dict[str, _Peer]:
        """All nodes that live, by number; those that have one name are told apart."""
        living = [one for one in await self._reads.nodes() if not one.gone]
        names = Counter(one.card.name for one in living)
        return {
            one.number: _Peer(
                one.number,
                one.card.name if names[one.card.name] == 1 else f"{one.card.name} #{one.number}",
                one.card.admin,
            )
            for one in living
        }

    async def _ask(
        self, peers: Iterable[_Peer], path: str, kind: type[T], **query: str | int
    ) -> tuple[dict[str, T], tuple[Unasked, ...]]:
        """What each of these but this node answers, by number, and who cannot be asked."""
        others = [one for one in peers if one.number != self.node()]
        answers = await asyncio.gather(*[self._one(one, path, kind, query) for one in others])
        found = dict[str, T]()
        unasked = list[Unasked]()
        for peer, answer in zip(others, answers, strict=True):
            if isinstance(answer, NotAsked):
                unasked.append(Unasked(peer.name, str(answer)))
            elif answer is not None:
                found[peer.number] = answer
        return found, tuple(unasked)

    async def _one(
        self, peer: _Peer, path: str, kind: type[T], query: Mapping[str, str | int]
    ) -> T | NotAsked | None:
        """None: it has no such thing."""
        if peer.admin is None:
            return NotAsked(UNREACHABLE)
        try:
            return await self._client.ask(peer.admin, peer.number, path, query, kind)
        except NotFound:
            return None
        except NotAsked as error:
            return error


def _newest_first(refusal: Mapping[str, Any]) -> float:
    return -float(refusal.get("at") or 0)
