"""The records of a router elsewhere: pages, cut searches, tokens that may not see everything."""

from collections.abc import Mapping
from typing import Any

import pytest

from router.cli.admin import MayNotSee
from router.cli.remote import ServerRecords
from router.errors import NotFound
from router.model.delivery import DeliverySummary
from router.store.values import Selector
from router.web.admin import answers
from router.web.admin.asking import LIMIT_MAX


class FakeDoor:
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


def records(door: FakeDoor) -> ServerRecords:
    return ServerRecords(door)  # type: ignore[arg-type]


def a_summary(number: int) -> DeliverySummary:
    return DeliverySummary(
        f"dlv_{number}", "shop", "commerce", 1, "routed", ("a",), 1, 2, None, 0, None, {}, (), None
    )


def test_a_limit_beyond_one_page_is_met_page_by_page(capsys: pytest.CaptureFixture[str]) -> None:
    first = tuple(a_summary(n) for n in range(LIMIT_MAX))
    door = FakeDoor(
        deliveries=[
            answers.Deliveries(first, next="more"),
            answers.Deliveries((a_summary(LIMIT_MAX),), cut=True),
        ]
    )
    found = records(door).deliveries(Selector(rule="r", ids=("dlv_1", "dlv_2"), limit=700))
    assert len(found) == LIMIT_MAX + 1
    asked = {"rule": "r", "id": "dlv_1,dlv_2"}
    assert [query for _, query in door.asked] == [
        {**asked, "limit": LIMIT_MAX},
        {**asked, "limit": 200, "cursor": "more"},
    ]
    assert "the server looked at the newest deliveries only" in capsys.readouterr().err


def test_no_page_is_asked_for_that_nobody_wants() -> None:
    door = FakeDoor(deliveries=[answers.Deliveries((a_summary(1),), next="more")])
    assert records(door).deliveries(Selector(limit=1)) == (a_summary(1),)


def test_without_the_right_to_see_payloads_the_rest_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = answers.OneDelivery(
        id="dlv_1", endpoint="shop", provider="commerce", received_at=1, state="routed",
        method="POST", path="/x", query="", headers=(("a", "[hidden]"),), body_bytes=2,
        verified_by=None, generation="g", flags=(), peer="", replay_of=None, duplicates=3,
        last_seen_at=5, event_count=2, damaged=False,
        events=(answers.ToldEvent(1, "evt_1", "orders/paid"),), jobs=(), attempts=(),
    )  # fmt: skip
    found = records(FakeDoor(deliveries__dlv_1=one)).record("dlv_1")
    assert found.delivery.body == b"[hidden]"
    assert (found.duplicates, found.delivery.event_count, found.events[0].index) == (3, 2, 1)
    assert "may not see payloads" in capsys.readouterr().err


def test_a_bare_prefix_of_several_deliveries_is_no_job() -> None:
    """As on the store itself; nor are several jobs nothing."""

    class Ambiguous(FakeDoor):
        def read(self, path: str, query: Mapping[str, Any], kind: type[Any]) -> Any:
            if path == f"/api/{self.by_path['several']}/7ABC":
                raise NotFound("7ABC fits several; write more of it")
            return super().read(path, query, kind)

    for several in ("deliveries", "jobs"):
        door = Ambiguous(several=several, jobs__7ABC="a job", deliveries__7ABC=None)
        with pytest.raises(NotFound, match="7ABC fits several"):
            records(door).record("7ABC")


def test_an_id_that_nothing_has_is_an_error_of_the_server() -> None:
    for identity in ("dlv_9", "job_9", "9"):
        with pytest.raises(NotFound, match="no /api/"):
            records(FakeDoor()).record(identity)
    assert records(FakeDoor()).generation("g") is None
