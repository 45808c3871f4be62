"""Which of the routers of the same rules are not ready, because their secrets differ."""

import pytest

from router.serving.node_agreement import differing_secrets
from router.store.values import Fingerprints, NodeCard, NodeSeen
from tests.clocks import START_MS

RIGHT: Fingerprints = {"shop": ("aa",), "token": ("11",)}
WRONG: Fingerprints = {**RIGHT, "shop": ("bb",)}


def seen(number: int, secrets: Fingerprints, generation: str = "g") -> NodeSeen:
    card = NodeCard(f"n{number}", "1", generation, secrets=secrets)
    return NodeSeen(str(number), card, 1, START_MS)


def judged(*nodes: NodeSeen) -> dict[str, str | None]:
    """What each node that lives says of itself, by its name."""
    return {
        here.card.name: differing_secrets(here, [one for one in nodes if one is not here])
        for here in nodes
    }


def unready(*secrets: Fingerprints) -> set[str]:
    found = judged(*[seen(number, one) for number, one in enumerate(secrets, 1)])
    assert None in found.values(), "never all of them"
    return {name for name, why in found.items() if why is not None}


def test_who_differs_says_in_what_and_from_whom_and_no_value() -> None:
    found = judged(seen(1, RIGHT), seen(2, RIGHT), seen(3, {"shop": ("bb",)}))
    why = "not the same as on n1 (#1): secrets.shop, secrets.token"
    assert found == {"n1": None, "n2": None, "n3": why}


@pytest.mark.parametrize(
    ("secrets", "expected"),
    [
        ((RIGHT,), set()),
        ((RIGHT, RIGHT), set()),
        ((WRONG, RIGHT, RIGHT), {"n1"}),
        ((RIGHT, RIGHT, WRONG), {"n3"}),
        ((RIGHT, WRONG), {"n2"}),
        ((RIGHT, WRONG, {**RIGHT, "token": ("22",)}), {"n2", "n3"}),
        ((RIGHT, WRONG, RIGHT, WRONG), {"n2", "n4"}),
    ],
)
def test_most_are_right_and_in_doubt_the_oldest(
    secrets: tuple[Fingerprints, ...], expected: set[str]
) -> None:
    assert unready(*secrets) == expected


def test_other_rules_are_not_compared() -> None:
    assert judged(seen(1, RIGHT), seen(2, WRONG, "h")) == {"n1": None, "n2": None}


def test_a_value_may_move_within_its_list_but_no_other_may_take_its_place() -> None:
    """Two secrets verify: the newer one and the one before."""
    before: Fingerprints = {"new": ("22", "11"), "old": ("11", "22")}
    after: Fingerprints = {"new": ("33", "22"), "old": ("22", "33")}
    wrong: Fingerprints = {"new": ("44", "11"), "old": ("11", "44")}
    assert unready(before, after, before) == unready(after, before) == set()
    assert unready(before, before, wrong) == {"n3"}
