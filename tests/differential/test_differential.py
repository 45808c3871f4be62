"""The short form of `python -m tests.differential`."""

import random

import pytest

from tests.differential import __main__ as differential
from tests.differential.readings import PAIRS

CASES = 400


@pytest.mark.long
@pytest.mark.parametrize("pair", PAIRS)
def test_the_pair_agrees(pair: str) -> None:
    said, wrong = differential.run(pair, CASES, seed=7)
    assert wrong == []
    assert said > CASES * 0.7  # else it compares next to nothing


def test_a_disagreement_is_reported_with_the_way_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(rng: random.Random) -> str:
        return f"drew {rng.randint(0, 9)}"

    monkeypatch.setattr(differential, "PAIRS", {"p": never})
    said, [first, second] = differential.run("p", 2, seed=3)
    assert said == 2
    assert first.startswith("--seed 3 --pair 'p' --case 0\n  drew ")
    [again] = differential.run("p", 2, seed=3, only=1)[1]
    assert again == second
