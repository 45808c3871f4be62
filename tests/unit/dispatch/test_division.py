"""Limits divided among nodes: in whatever order, never above them, and nobody starves."""

import math
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.dispatch.division import IDLE_MOST, Part, divided, fair
from router.model.settings import TargetLimits
from router.model.share import ShareReport, ShareRow, Shares, TargetShare, TargetUse

ERP = "erp"


class Node:
    """A node as it is itself: what it goes by, what it runs, what it wants."""

    def __init__(self, number: str) -> None:
        self.row = ShareRow(number)
        self.goes_by = Shares()
        self.running = self.wanted = 0
        self.reclaimed = False

    @property
    def share(self) -> TargetShare:
        return self.goes_by.given.get(ERP, TargetShare())

    def takes(self) -> None:
        self.goes_by = self.row.shares

    def reports(self) -> None:
        use = TargetUse(self.running, self.wanted)
        uses = {ERP: use} if self.running or self.wanted else {}
        report = ShareReport(self.goes_by.version, uses)
        self.row = msgspec.structs.replace(self.row, report=report)

    def beats(self) -> None:
        self.reports()
        self.takes()

    def starts(self) -> None:
        """All that it may."""
        self.wanted = self.running = self.may_use()

    def ends(self) -> None:
        self.running //= 2

    def may_use(self) -> int:
        return max(self.share.concurrency, self.running)


class Fleet:
    """Some nodes and one target."""

    def __init__(self, limits: TargetLimits) -> None:
        self.limits = limits
        self.nodes: list[Node] = []

    def living(self) -> list[Node]:
        return [node for node in self.nodes if not node.row.gone]

    def divides(self) -> int:
        there = [node for node in self.nodes if not node.reclaimed]
        rows = divided([node.row for node in there], lambda _target: self.limits, (ERP,))
        changed = {row.node: row for row in rows}
        for node in there:
            node.row = changed.get(node.row.node, node.row)
        return len(changed)

    def does(self, step: tuple[str, int]) -> None:
        what, number = step
        if what == "joins":
            self.nodes.append(Node(str(len(self.nodes))))
        elif what == "divides":
            self.divides()
        elif what == "all beat":
            for _ in range(number % 4 + 1):
                for node in self.living():
                    node.beats()
                self.divides()
        elif self.nodes:
            self.does_to(self.nodes[number % len(self.nodes)], what, number)

    def does_to(self, node: Node, what: str, number: int) -> None:
        if what == "is reclaimed":
            node.reclaimed = node.row.gone
            node.running *= not node.row.gone
        elif node.row.gone:
            pass
        elif what == "dies":
            node.row = msgspec.structs.replace(node.row, gone=True)
        elif what == "wants":
            node.wanted = number // 7
        else:
            getattr(node, what)()

    def in_use(self) -> int:
        """What the living may start and run, and what runs of the dead."""
        return sum(n.running if n.row.gone else n.may_use() for n in self.nodes)

    def rates(self) -> float:
        """Also of the dead: what they have begun within this second counts at the target."""
        return sum(node.share.most for node in self.nodes if not node.reclaimed)

    def begins(self) -> None:
        """Two nodes that know what they were given."""
        for _ in range(2):
            self.does(("joins", 0))
        self.calms_down()

    def calms_down(self) -> None:
        """All beats and divisions come through, and what runs ends."""
        for node in self.nodes:
            node.running = 0
            node.reclaimed = node.row.gone
        for _ in range(2):
            self.does(("all beat", 3))


WHATS = ["joins", "divides", "takes", "reports", "beats", "all beat"]
OF_NODES = ["starts", "ends", "wants", "wants", "dies", "is reclaimed"]
STEP = st.tuples(st.sampled_from(WHATS + OF_NODES), st.integers(0, 70))
STEPS = st.lists(STEP, min_size=10, max_size=40)
LIMITS = st.builds(TargetLimits, st.integers(1, 9), st.sampled_from([None, 0.5, 10.0]))


@given(LIMITS, STEPS)
@settings(max_examples=100, deadline=None)
def test_never_above_the_limit_whatever_happens(
    limits: TargetLimits, steps: list[tuple[str, int]]
) -> None:
    fleet = Fleet(limits)
    fleet.begins()
    for step in steps:
        fleet.does(step)
        assert fleet.in_use() <= limits.concurrency
        if limits.rate is not None:
            assert fleet.rates() <= limits.rate * (1 + 1e-6)


@pytest.mark.long
@given(LIMITS, LIMITS, STEPS, STEPS)
@settings(max_examples=100, deadline=None)
def test_nor_above_the_greater_one_when_it_changes(
    before: TargetLimits,
    after: TargetLimits,
    first: list[tuple[str, int]],
    then: list[tuple[str, int]],
) -> None:
    fleet = Fleet(before)
    fleet.begins()
    for step in first:
        fleet.does(step)
    fleet.calms_down()
    fleet.limits = after
    for step in then:
        fleet.does(step)
        assert fleet.in_use() <= max(before.concurrency, after.concurrency)
        if before.rate is not None and after.rate is not None:
            assert fleet.rates() <= max(before.rate, after.rate) * (1 + 1e-6)
    fleet.calms_down()
    assert fleet.in_use() <= after.concurrency
    assert fleet.rates() <= (math.inf if after.rate is None else after.rate * (1 + 1e-6))


@given(LIMITS, STEPS)
@settings(max_examples=100, deadline=None)
def test_when_it_is_calm_all_of_it_is_given_and_stays(
    limits: TargetLimits, steps: list[tuple[str, int]]
) -> None:
    """And as it is to be: nobody starves, and nobody has what another one wants more."""
    fleet = Fleet(limits)
    fleet.begins()
    for step in steps:
        fleet.does(step)
    fleet.calms_down()
    assert fleet.divides() == 0
    living = fleet.living()
    if not living:
        return
    shares = [node.share.concurrency for node in living]
    assert sum(shares) == limits.concurrency
    assert [node.share.rate for node in living if node.share.concurrency] == pytest.approx(
        [limits.rate and limits.rate * n / limits.concurrency for n in shares if n]
    )
    wanted = [node.wanted for node in living]
    if limits.concurrency >= len(living):
        assert min(shares) >= 1
    elif any(wanted):
        assert any(n and w for n, w in zip(shares, wanted, strict=True))
    for mine, want in zip(shares, wanted, strict=True):
        if mine < want and limits.concurrency >= len(living):
            others = zip(shares, wanted, strict=True)
            assert all(n <= mine + 1 or n <= max(w, 1) <= mine + 1 for n, w in others)


def _parts(*parts: tuple[int, int]) -> list[Part]:
    """Of each what it was given and what it wants."""
    return [Part(TargetShare(n, None), TargetShare(n, None), wanted) for n, wanted in parts]


@pytest.mark.parametrize(
    ("limit", "parts", "expected"),
    [
        (16, [(0, 0)], [16]),
        (16, [(0, 0), (0, 0), (0, 0)], [6, 5, 5]),
        (16, [(16, 0), (0, 0)], [8, 8]),
        (10, [(5, 10), (5, 1)], [9, 1]),
        (10, [(9, 10), (1, 10)], [5, 5]),
        (10, [(9, 10), (1, 3)], [7, 3]),
        (7, [(3, 7), (4, 7)], [3, 4]),
        (10, [(9, 2), (1, 0)], [9, 1]),
        (1, [(0, 0), (1, 0)], [0, 1]),
        (1, [(0, 1), (1, 1)], [0, 1]),
        (1, [(0, 1), (1, 0)], [1, 0]),
        (2, [(1, 0), (1, 1), (0, 1)], [0, 1, 1]),
    ],
)
def test_who_is_to_have_how_much(
    limit: int, parts: Sequence[tuple[int, int]], expected: list[int]
) -> None:
    assert fair(_parts(*parts), limit) == expected


def _row(node: str, given: dict[str, int], running: int = 0, *, settled: bool = True) -> ShareRow:
    shares = Shares(3, {target: TargetShare(n, None) for target, n in given.items()})
    uses = {ERP: TargetUse(running, running)} if running else {}
    return ShareRow(node, shares, {}, ShareReport(3 if settled else 2, uses))


def _divided(*rows: ShareRow, limit: int = 4) -> dict[str, dict[str, int]]:
    found = divided(rows, lambda _target: TargetLimits(limit), ())
    return {r.node: {t: share.concurrency for t, share in r.shares.given.items()} for r in found}


def test_what_shrinks_is_handed_on_once_less_runs_there() -> None:
    a = _row("a", {ERP: 4}, running=4)
    (shrunk,) = divided((a, _row("b", {})), lambda _target: TargetLimits(4), (ERP,))
    assert (shrunk.node, shrunk.shares.version, shrunk.held[ERP].concurrency) == ("a", 4, 4)
    assert shrunk.shares.given[ERP].concurrency == 3
    goes_by_it = msgspec.structs.replace(shrunk, report=ShareReport(4, {ERP: TargetUse(4, 4)}))
    assert _divided(goes_by_it, _row("b", {})) == {}
    less = msgspec.structs.replace(shrunk, report=ShareReport(4, {ERP: TargetUse(3, 4)}))
    assert _divided(less, _row("b", {})) == {"b": {ERP: 1}}


def test_what_a_dead_node_may_run_counts() -> None:
    dead = msgspec.structs.replace(_row("a", {ERP: 3}), gone=True)
    assert _divided(dead, _row("b", {ERP: 1}, running=1)) == {}
    assert _divided(_row("b", {ERP: 1}, running=1)) == {"b": {ERP: 4}}


def test_what_a_dead_node_may_have_begun_counts_against_the_rate() -> None:
    """The whole rate was its own, of a limit of one job; now four may run."""
    limits, before = TargetLimits(4, 10.0), Shares(1, {ERP: TargetShare(1, 10.0)})
    dead = ShareRow("a", before, {}, ShareReport(1, {ERP: TargetUse(1, 1)}), gone=True)
    (waits,) = divided((dead, ShareRow("b")), lambda _target: limits, (ERP,))
    assert (waits.node, waits.shares.given) == ("b", {ERP: TargetShare(3, 0.0)})
    (alone,) = divided((ShareRow("b"),), lambda _target: limits, (ERP,))
    assert alone.shares.given == {ERP: TargetShare(4, 10.0)}


def test_who_has_not_taken_what_it_was_given_is_given_nothing_new() -> None:
    assert _divided(_row("a", {ERP: 2}, settled=False)) == {}
    assert _divided(_row("a", {ERP: 2})) == {"a": {ERP: 4}}


def test_targets_that_nobody_names_or_wants_stay_up_to_a_bound() -> None:
    many = {f"https://{n:05}.example.net": 4 for n in range(IDLE_MOST + 5)}
    assert _divided(_row("a", dict(list(many.items())[:IDLE_MOST]))) == {}
    assert {name: len(given) for name, given in _divided(_row("a", many)).items()} == {
        "a": IDLE_MOST
    }
