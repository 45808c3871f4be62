"""What a server counted is what `router status` tells, while it runs and afterwards."""

import json
from typing import Any

import pytest

from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import Rig, called

pytestmark = pytest.mark.long

RULES = """
rules:
  - {id: hopeless, from: shop, actions: {shell: {argv: ["false"]}}}
"""


def told(rig: Rig) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(called(rig, "status", "--json")[1])
    return found


def counted(found: dict[str, Any]) -> tuple[int, int, int]:
    return (
        sum(found["hour"]["deliveries"]),
        sum(found["day"]["dead"]),
        found["dead"]["count"],
    )


def test_it_counts_on_after_a_restart_and_where_no_server_runs(make_rig: MakeRig) -> None:
    rig = make_rig(RULES)
    for times in (1, 2):
        with rig.router() as router:
            assert called(rig, "send", "shop", "orders/paid")[0] == 0
            router.until(lambda: counted(told(rig)) == (times, times, times), "the dead job")  # noqa: B023 - it is called at once
            kinds = [one["kind"] for one in told(rig)["attention"]]
            assert kinds == ["target", "dead"]
            [target] = told(rig)["targets"]
            assert (target["state"], target["failed"]["hour"]) == ("failing", times)
            assert "failing" in called(rig, "targets")[1]
            assert "exit 1; it is called all the same" in called(rig, "targets")[1]
            assert called(rig, "status", "--check")[0] == 1
            assert router.stop() == 0, router.output()
        found = told(rig)
        assert counted(found) == (times, times, times)
        assert [one["kind"] for one in found["attention"]] == ["server", "dead"]
    [shop] = [one for one in found["endpoints"] if one["name"] == "shop"]
    assert shop["last_at"] is not None
