"""What a server counted is what `router status` tells, while it runs and afterwards."""

import json
from typing import Any

import httpx
import pytest

from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import Rig, RouterProcess, called
from tests.acceptance.senders import ENDPOINTS

pytestmark = pytest.mark.long

RULES = """
rules:
  - {id: hopeless, from: shop, actions: {shell: {argv: ["false"]}}}
"""

RULE_OF_ALL = "rules: [{id: all, from: [shop, mail, code], actions: {log: hi}}]\n"
NEVER = """
vars: {unused: 1}
rules:
  - {id: never, from: shop, events: orders/paid, match: event == 'orders/create', actions: {log: a}}
"""
MANY = f"vars: {{{', '.join(f'v{n}: {n}' for n in range(30))}}}\n{RULE_OF_ALL}"


def told(rig: Rig) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(called(rig, "status", "--json")[1])
    return found


def attention(rig: Rig) -> list[tuple[str, str]]:
    return [(one["kind"], one["text"]) for one in told(rig)["attention"]]


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
            assert kinds == ["target", "dead", "check"]  # two endpoints that no rule takes from
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


def found_by_check(rig: Rig) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(called(rig, "check", "--json")[1])
    return found


def logged(router: RouterProcess) -> list[dict[str, Any]]:
    """What the log says of findings of `check`."""
    lines = map(json.loads, router.log.read_text("utf-8").splitlines())
    return [line for line in lines if line["event"].startswith("check: ")]


def test_what_check_finds_is_logged_counted_and_told_at_start_and_reload(make_rig: MakeRig) -> None:
    rig = make_rig(NEVER)
    with rig.router() as router:
        found = found_by_check(rig)
        assert {one["code"]: one["rule"] for one in found} == {
            "never-true": "never", "unused-endpoint": None, "unused-var": None,
        }  # fmt: skip
        names = ("code", "rule", "message", "severity")
        assert [
            (one["code"], one.get("rule"), one["event"].removeprefix("check: "), one["level"])
            for one in logged(router)
        ] == [tuple(one[name] for name in names) for one in found]
        assert all(one["place"].startswith(f"{rig.path}:") for one in logged(router))
        assert attention(rig) == [("check", "check has 4 findings about the rules in force")]
        assert called(rig, "status", "--check")[0] == 0
        page = httpx.get(f"{router.admin_url}/metrics", trust_env=False).text
        assert 'router_rules_findings{severity="warning"} 4.0' in page
        rig.write(ENDPOINTS + RULE_OF_ALL)
        router.until(lambda: attention(rig) == [], "the rules without findings")
        rig.write(ENDPOINTS + MANY)
        router.until(lambda: bool(attention(rig)), "the rules with many")
        assert attention(rig) == [("check", "check has 30 findings about the rules in force")]
        assert len(logged(router)) == 4 + 21
        assert logged(router)[-1]["event"] == "check: and 10 more, which `router check` lists"


def test_a_router_whose_only_secret_has_expired_starts_and_says_so(make_rig: MakeRig) -> None:
    """Its other endpoints still accept; for `check` it is an error."""
    over = ENDPOINTS.replace("{env: SHOP_SECRET}", "{env: SHOP_SECRET, until: 2020-01-01}")
    rig = make_rig("")
    rig.write(over + RULE_OF_ALL)
    with rig.router() as router:
        [line] = logged(router)
        assert (line["level"], line["code"]) == ("error", "no-secret-left")
        text = "the endpoint shop refuses every delivery: all of its secrets have expired"
        assert attention(rig)[0] == ("secret", text)
        assert called(rig, "status", "--check")[0] == 1
        assert called(rig, "send", "shop", "orders/paid")[0] == 1
        assert called(rig, "send", "code", "push")[0] == 0
    code, out, _ = called(rig, "check")
    assert code == 1
    assert "error no-secret-left: 'shop' refuses every delivery" in out
    assert ": ok" not in out
