"""Who is taken for gone, and when: beats as the store tells them, times as numbers."""

import math

from router.serving.failure_detector import FailureDetector
from router.store.values import NodeCard, NodeSeen

GONE_S, CLOSED_S, GAP_S = 15.0, 3.0, 5.0
CARD = NodeCard("n", "1", "g")


def a_node(
    beats: int = 1, *, number: str = "2", closed: bool = False, beat_at: float = 10_000.0
) -> NodeSeen:
    """One that has just beaten, unless it is told when."""
    return NodeSeen(number, CARD, beats, round(beat_at * 1000), closed=closed)


class Observer:
    """A node that asks the store each second."""

    def __init__(self) -> None:
        self.detector, self.now = FailureDetector(), 100.0

    def looks(self, *others: NodeSeen) -> list[str]:
        now = round(self.now * 1000)
        found = self.detector.gone(others, now=now, asked=self.now, answered=self.now)
        return [one.number for one in found]

    def passes(self, seconds: float, *others: NodeSeen) -> list[str]:
        """So much time, a look each second; who was gone at the last one."""
        until, found = self.now + seconds, list[str]()
        while self.now < until:
            self.now = min(self.now + 1, until)
            found = self.looks(*others)
        return found


def test_who_stands_still_for_long_is_gone_and_not_before() -> None:
    observer = Observer()
    assert observer.looks(a_node()) == []
    assert observer.passes(GONE_S - 0.1, a_node()) == []
    assert observer.passes(0.1, a_node()) == ["2"]


def test_a_beat_begins_it_anew() -> None:
    observer = Observer()
    observer.looks(a_node())
    observer.passes(GONE_S - 1, a_node())
    assert observer.passes(1, a_node(beats=2)) == []
    assert observer.passes(GONE_S - 0.1, a_node(beats=2)) == []
    assert observer.passes(0.1, a_node(beats=2)) == ["2"]


def test_each_is_judged_by_its_own_beats() -> None:
    observer = Observer()
    observer.looks(a_node())
    for beats in range(5, 5 + int(GONE_S)):
        found = observer.passes(1, a_node(), a_node(beats, number="3"))
    assert found == ["2"]
    assert observer.passes(1, a_node(beats=99, number="3")) == []


def test_who_has_closed_its_connection_is_gone_sooner() -> None:
    observer = Observer()
    assert observer.looks(a_node(closed=True)) == []
    assert observer.passes(CLOSED_S - 0.1, a_node(closed=True)) == []
    assert observer.passes(0.1, a_node(closed=True)) == ["2"]


def test_it_stands_still_from_its_last_beat_on_not_from_when_that_was_seen() -> None:
    observer = Observer()
    observer.looks(a_node(beat_at=100.0))
    observer.passes(1, a_node(2, closed=True, beat_at=100.3))
    assert observer.detector.next_look == 100.3 + CLOSED_S
    assert observer.passes(CLOSED_S - 0.8, a_node(2, closed=True, beat_at=100.3)) == []
    assert observer.passes(0.1, a_node(2, closed=True, beat_at=100.3)) == ["2"]
    assert observer.detector.next_look == math.inf


def test_but_no_longer_than_since_the_answer_before_whatever_the_stores_clock_does() -> None:
    observer = Observer()
    observer.looks(a_node(beat_at=100.0))
    observer.passes(1, a_node(2, closed=True, beat_at=20.0))
    assert observer.detector.next_look == 100 + CLOSED_S
    observer.passes(1, a_node(3, closed=True, beat_at=200.0))
    assert observer.detector.next_look == 102 + CLOSED_S


def test_whose_connection_is_open_need_not_be_looked_at_sooner() -> None:
    observer = Observer()
    observer.passes(2, a_node())
    assert observer.detector.next_look == math.inf
    observer.passes(1, a_node(closed=True))
    assert observer.detector.next_look < math.inf
    observer.detector.interrupted(observer.now)
    assert observer.detector.next_look == math.inf


def test_but_not_while_it_beats() -> None:
    observer = Observer()
    for beats in range(20):
        assert observer.passes(CLOSED_S - 0.1, a_node(beats, closed=True)) == []


def test_an_outage_of_the_store_kills_nobody() -> None:
    observer = Observer()
    observer.looks(a_node())
    observer.passes(GONE_S - 1, a_node())
    observer.detector.interrupted(observer.now)
    observer.now += 2
    assert observer.looks(a_node()) == []
    assert observer.passes(GONE_S - 0.1, a_node()) == []
    assert observer.passes(0.1, a_node()) == ["2"]


def test_nor_do_the_connections_that_it_closed() -> None:
    observer = Observer()
    observer.looks(a_node())
    observer.detector.interrupted(observer.now)
    observer.now += 1
    assert observer.looks(a_node(closed=True)) == []
    assert observer.passes(GONE_S - 1.1, a_node(closed=True)) == []
    assert observer.passes(1, a_node(closed=True)) == ["2"]


def test_time_in_which_the_observer_stood_still_does_not_count() -> None:
    """All of a machine may have been stopped: whoever wakes first must not judge the others."""
    observer = Observer()
    observer.looks(a_node())
    observer.now += GONE_S + 60
    assert observer.looks(a_node()) == []
    assert observer.passes(GONE_S - 0.1, a_node()) == []
    assert observer.passes(0.1, a_node()) == ["2"]


def test_a_slow_store_is_no_gap() -> None:
    observer = Observer()
    observer.looks(a_node())
    found: list[str] = []
    for _ in range(3):
        observer.now += GAP_S
        found = observer.looks(a_node())
    assert found == ["2"]
    for _ in range(9):
        observer.now += GAP_S + 0.1
        assert observer.looks(a_node(beats=2)) == []


def test_the_time_between_an_answer_and_the_next_question_counts() -> None:
    """What is seen in an answer may be as new as the answer, in the next as old as the question."""
    detector = FailureDetector()
    detector.gone([a_node(closed=True)], now=0, asked=10.0, answered=12.0)
    soon = 12.0 + CLOSED_S - 0.1
    assert detector.gone([a_node(closed=True)], now=0, asked=soon, answered=soon + 2) == ()
    later = 12.0 + CLOSED_S
    asked = max(later, soon + 2)
    (gone,) = detector.gone([a_node(closed=True)], now=0, asked=asked, answered=later + 3)
    assert gone.number == "2"
