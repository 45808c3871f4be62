"""The long search for histories says what it finds."""

from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.properties.__main__ import problem


class Sound(RuleBasedStateMachine):
    @rule()
    def step(self) -> None:
        pass


class Broken(RuleBasedStateMachine):
    @rule()
    def step(self) -> None:
        raise AssertionError("they differ")


def test_a_history_that_differs_is_reported_with_its_seed() -> None:
    found = problem("broken", Broken, 7)
    assert found is not None
    assert found.startswith("broken, seed 7:")
    assert "they differ" in found


def test_where_none_does_nothing_is_reported() -> None:
    assert problem("sound", Sound, 7) is None
