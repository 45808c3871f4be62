"""Which of the routers of the same rules are not ready, because their machines differ."""

from typing import Any

import pytest

from router.serving.node_agreement import NAMES_SHOWN, NodeAgreement
from router.store.values import Local, NodeCard, NodeSeen, Publication
from tests.clocks import START_MS
from tests.unit.serving.test_nodes import Lines

RIGHT: Local = {"secrets.shop": ("aa",), "plugins/desk.py": ("11",)}
WRONG: Local = {**RIGHT, "secrets.shop": ("bb",)}


class Rollout:
    def __init__(self, local: Local, generation: str = "g") -> None:
        self.newest = Publication(1, generation, "laptop", START_MS, local)


def seen(number: int, local: Local, generation: str = "g") -> NodeSeen:
    card = NodeCard(f"n{number}", None, "1", generation, local=local)
    return NodeSeen(str(number), card, 1, START_MS)


def judged(*nodes: NodeSeen, rollout: Any = None) -> dict[str, str | None]:
    """What each node that lives says of itself, by its name."""
    found = {}
    for here in nodes:
        log: Any = Lines()
        agreement = NodeAgreement(rollout, log=log)
        agreement.compare(here, [one for one in nodes if one is not here])
        found[here.card.name] = agreement.unready()
    return found


def unready(*locals_: Local, rollout: Any = None) -> set[str]:
    nodes = [seen(number, local) for number, local in enumerate(locals_, 1)]
    found = judged(*nodes, rollout=rollout)
    assert None in found.values(), "never all of them"
    return {name for name, why in found.items() if why is not None}


def test_who_has_seen_nobody_yet_is_not_ready() -> None:
    log: Any = Lines()
    agreement = NodeAgreement(None, log=log)
    assert agreement.unready() == "the other routers have not been seen yet"
    agreement.compare(seen(1, RIGHT), [])
    assert agreement.unready() is None


def test_who_differs_says_in_what_and_from_whom_and_no_value() -> None:
    found = judged(seen(1, RIGHT), seen(2, RIGHT), seen(3, {"secrets.shop": ("bb",)}))
    why = "not the same as on n1 (#1): plugins/desk.py, secrets.shop"
    assert found == {"n1": None, "n2": None, "n3": why}


def test_many_names_are_cut() -> None:
    many: Local = {f"secrets.s{n:02}": ("aa",) for n in range(NAMES_SHOWN + 2)}
    other: Local = dict.fromkeys(many, ("bb",))
    why = judged(seen(1, many), seen(2, other))["n2"]
    assert why is not None
    assert why.endswith("secrets.s09, 2 more")


@pytest.mark.parametrize(
    ("locals_", "expected"),
    [
        ((RIGHT, RIGHT), set()),
        ((WRONG, RIGHT, RIGHT), {"n1"}),
        ((RIGHT, RIGHT, WRONG), {"n3"}),
        ((RIGHT, WRONG), {"n2"}),
        ((RIGHT, WRONG, {**RIGHT, "plugins/desk.py": ("22",)}), {"n2", "n3"}),
        ((RIGHT, WRONG, RIGHT, WRONG), {"n2", "n4"}),
    ],
)
def test_most_are_right_and_in_doubt_the_oldest(
    locals_: tuple[Local, ...], expected: set[str]
) -> None:
    assert unready(*locals_) == expected


@pytest.mark.parametrize(
    ("locals_", "expected"),
    [
        ((WRONG, WRONG, RIGHT), {"n1", "n2"}),
        ((WRONG, RIGHT), {"n1"}),
        ((WRONG, WRONG), set()),
        ((WRONG, WRONG, {**WRONG, "plugins/desk.py": ("22",)}), {"n3"}),
    ],
)
def test_who_differs_least_from_what_was_published_is_right_however_few(
    locals_: tuple[Local, ...], expected: set[str]
) -> None:
    assert unready(*locals_, rollout=Rollout(RIGHT)) == expected


def test_a_machine_that_publishes_without_secrets_says_nothing_of_them() -> None:
    files: Local = {"plugins/desk.py": ("22",)}
    changed = RIGHT | files
    assert unready(RIGHT, RIGHT, changed, rollout=Rollout(files)) == {"n1", "n2"}
    assert unready(WRONG, RIGHT, RIGHT, rollout=Rollout({})) == {"n1"}


def test_other_rules_are_not_compared() -> None:
    found = judged(seen(1, RIGHT), seen(2, WRONG, "h"), rollout=Rollout(RIGHT, "h"))
    assert found == {"n1": None, "n2": None}


def test_a_value_may_move_within_its_list_but_no_other_may_take_its_place() -> None:
    """Two secrets verify: the newer one and the one before."""
    before: Local = {"secrets.new": ("22", "11"), "secrets.old": ("11", "22")}
    after: Local = {"secrets.new": ("33", "22"), "secrets.old": ("22", "33")}
    wrong: Local = {"secrets.new": ("44", "11"), "secrets.old": ("11", "44")}
    assert unready(before, after, before) == unready(after, before) == set()
    assert unready(before, before, wrong) == {"n3"}


def test_it_is_said_once_and_when_it_is_over() -> None:
    lines: Any = Lines()
    rollout: Any = Rollout(WRONG)
    agreement = NodeAgreement(rollout, log=lines)
    for local in (RIGHT, RIGHT, WRONG, WRONG):
        agreement.compare(seen(1, local), [])
        assert agreement.unready() is None
    assert lines.said == ["this machine differs", "this machine differs no more"]
