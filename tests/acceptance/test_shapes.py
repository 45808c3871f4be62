"""`router shapes learn` beside a running server, from deliveries that `router send` signed."""

import pytest

from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import called

pytestmark = pytest.mark.long

RULES = """
rules:
  - id: gold
    from: shop
    events: orders/paid
    match: payload.loyalty.tier == 'gold'
    actions: {log: "{{ payload.id }}"}
"""
CANARY = "canary"
SET = [
    "loyalty.tier=gold",
    f"customer.email={CANARY}@example.com",
    f"customer.first_name={CANARY}",
    f"customer.state={CANARY}",
    f"note=call {CANARY} at +4915112345678",
    f"token=sk_live_{CANARY}",
    f"reviewers.{CANARY}@example=yes",
]
LEARN = ("shapes", "learn", "--endpoint", "shop")


def test_what_has_come_is_known_and_nobody_is_named(make_rig: MakeRig) -> None:
    rig = make_rig(RULES)
    code, out, _ = called(rig, "check")
    assert (code, "no known field 'loyalty'" in out) == (0, True)
    given = [word for one in SET for word in ("--set", one)]
    with rig.router():
        assert called(rig, "send", "shop", "orders/paid", "--count", "25", *given)[0] == 0
        assert called(rig, "send", "shop", "orders/paid", "--tamper", "body")[0] == 0
        code, out, err = called(rig, *LEARN)
        assert (code, err) == (0, "")
        assert out.splitlines()[1].split()[:3] == ["shop", "25", "1"]
    file = rig.path.parent / "shapes" / "shop.yaml"
    text = file.read_text("utf-8")
    assert "- gold\n" in text
    assert CANARY not in text
    assert "4915112345678" not in text
    assert "no known field" not in called(rig, "check")[1]
    assert called(rig, *LEARN)[0] == 0
    assert file.read_text("utf-8") == text
