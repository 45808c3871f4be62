"""Several nodes on one ledger, each with a store of its own, whatever kind of store that is."""

from typing import Any, Protocol

from router.clock import Clock
from router.store.protocol import Store
from router.store.values import NodeCard
from tests.conformance.model_store import ModelStore


class Fleet(Protocol):
    """A ledger that several nodes share."""

    async def open(self) -> Store:
        """One more node's store."""

    async def cut(self, store: Store) -> None:
        """Its connections are closed for ever, as if its process had been killed."""


class ModelFleet:
    """One model behind them all."""

    def __init__(self, clock: Clock) -> None:
        self.model = ModelStore(clock)

    async def open(self) -> Store:
        store: Any = _Client(self.model)
        return store  # type: ignore[no-any-return]

    async def cut(self, store: Store) -> None:
        assert isinstance(store, _Client)
        store.model.close_connection(store.number)


class _Client:
    """The model as one node has it: it knows whose connection this is."""

    def __init__(self, model: ModelStore) -> None:
        self.model = model
        self.number = ""

    async def join(self, card: NodeCard) -> str:
        self.number = await self.model.join(card)
        return self.number

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


def a_card(name: str = "one", **given: Any) -> NodeCard:
    values: dict[str, Any] = {"version": "1.0", "generation": "0" * 16}
    return NodeCard(name, **{**values, **given})
