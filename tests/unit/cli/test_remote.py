"""An operator's questions to a router elsewhere: pages, cut searches, tokens without bodies."""

from collections.abc import Mapping
from typing import Any

import pytest

from router.cli.admin import MayNotSee
from router.cli.remote import LIMIT_MAX, RemoteOperator
from router.errors import AmbiguousId, NotFound
from router.model.delivery import DeliverySummary
from router.operator import answers
from router.store.values import Selector


class FakeClient:
    """Answers with what it is given, by path; remembers what it was asked."""

    def __init__(self, **by_path: Any) -> None:
        self.by_path = {path.replace("__", "/"): found for path, found in by_path.items()}
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    def read(self, path: str, query: Mapping[str, Any], kind: type[Any]) -> Any:
        self.asked.append((path, query))
        found = self.by_path.get(path.removeprefix("/api/"))
        if found is None:
            raise NotFound(f"no {path}")
        return found.pop(0) if isinstance(found, list) else found

    def body(self, delivery: str) -> bytes:
        raise MayNotSee(f"the token wall may not see payloads of {delivery}")


def server(client: FakeClient) -> RemoteOperator:
    return RemoteOperator(client)  # type: ignore[arg-type]


def a_summary(number: int) -> DeliverySummary:
    return DeliverySummary(
        f"dlv_{number}", "shop", "commerce", 1, "routed", ("a",), 1, 2, None, 0, None, {}, (), None
    )


async def test_a_limit_beyond_one_page_is_met_page_by_page() -> None:
    first = tuple(a_summary(n) for n in range(LIMIT_MAX))
    client = FakeClient(
        deliveries=[
            answers.Deliveries(first, next="more", failed=2, reason="no such field"),
            answers.Deliveries((a_summary(LIMIT_MAX),), failed=1, reason="later"),
        ]
    )
    found = await server(client).deliveries(Selector(rule="r", ids=("dlv_1", "dlv_2"), limit=700))
    assert len(found.deliveries) == LIMIT_MAX + 1
    assert (found.failed, found.reason) == (3, "no such field")
    asked = {"rule": "r", "id": "dlv_1,dlv_2"}
    assert [query for _, query in client.asked] == [
        {**asked, "limit": LIMIT_MAX},
        {**asked, "limit": 200, "cursor": "more"},
    ]


async def test_no_page_is_asked_for_that_nobody_wants() -> None:
    client = FakeClient(deliveries=[answers.Deliveries((a_summary(1),), next="more")])
    found = await server(client).deliveries(Selector(limit=1))
    assert found.deliveries == (a_summary(1),)


async def test_causes_by_condition_are_the_servers_to_count() -> None:
    """It examines all of its dead jobs; from here only so many could be fetched."""
    client = FakeClient(dead=answers.Dead((), failed=3))
    selector = Selector(state="dead", where="payload.id == 1")
    assert (await server(client).dead(selector)).failed == 3
    assert client.asked == [("/api/dead", {"where": "payload.id == 1", "limit": LIMIT_MAX})]


async def test_without_the_right_to_see_payloads_the_rest_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = answers.OneDelivery(
        id="dlv_1", endpoint="shop", provider="shopify", received_at=1, state="routed",
        method="POST", path="/x", query="", headers=(("a", "[hidden]"),), body_bytes=2,
        verified_by=None, generation="g", flags=(), peer="", replay_of=None, duplicates=3,
        last_seen_at=5, event_count=2, damaged=False,
        events=(answers.EventRow(1, "evt_1", "orders/paid"),), jobs=(), attempts=(),
    )  # fmt: skip
    found = await server(FakeClient(deliveries__dlv_1=one)).show("dlv_1")
    assert (found.delivery.body, found.delivery.provider) == (b"[hidden]", "shopify")
    assert (found.duplicates, found.delivery.event_count, found.events[0].index) == (3, 2, 1)
    assert "may not see payloads" in capsys.readouterr().err


async def test_a_bare_prefix_of_several_deliveries_is_no_job() -> None:
    """As on the store itself; nor are several jobs nothing. The words do not matter."""

    class Several(FakeClient):
        def read(self, path: str, query: Mapping[str, Any], kind: type[Any]) -> Any:
            if path == f"/api/{self.by_path['several']}/7ABC":
                raise AmbiguousId("no clear answer")
            return super().read(path, query, kind)

    for several in ("deliveries", "jobs"):
        client = Several(several=several, jobs__7ABC="a job", deliveries__7ABC=None)
        with pytest.raises(AmbiguousId, match="no clear answer"):
            await server(client).show("7ABC")


async def test_an_id_that_nothing_has_is_an_error_of_the_server() -> None:
    for identity in ("dlv_9", "job_9", "9"):
        with pytest.raises(NotFound, match="no /api/"):
            await server(FakeClient()).show(identity)
    with pytest.raises(NotFound):
        await server(FakeClient()).generation("g")
