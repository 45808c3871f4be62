"""Due times."""

from hypothesis import given
from hypothesis import strategies as st

from router.dispatch.due import DueTimes


def test_the_earliest_is_kept() -> None:
    due = DueTimes()
    assert due.put("a", 20)
    assert due.put("a", 10)
    assert not due.put("a", 30)
    assert not due.put("b", 15)
    assert due.next() == 10
    assert due.take(9) == []
    assert due.take(15) == ["a", "b"]
    assert due.next() is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 20), st.booleans())))
def test_never_later_than_due(steps: list[tuple[str, int, bool]]) -> None:
    due, model = DueTimes(), dict[str, int]()
    for target, at, take in steps:
        if take:
            assert sorted(due.take(at)) == sorted(t for t, d in model.items() if d <= at)
            model = {t: d for t, d in model.items() if d > at}
        else:
            due.put(target, at)
            model[target] = min(at, model.get(target, at))
        assert due.next() == min(model.values(), default=None)
        assert len(due) == len(model)


def test_the_first_of_all_is_reported() -> None:
    due = DueTimes()
    assert due.put("a", 10)
    assert not due.put("a", 10), "the same again"
    assert not due.put("b", 11)
    assert due.put("b", 9)
    assert due.take(10) == ["b", "a"]
    assert len(due) == 0
