"""
The seeds that a test of a simulation lives: a few, where `python -m tests.sim` lives thousands.

`SIM_SEEDS=500` makes them more, `SIM_SEED=17` brings one back.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

FEW = 25


def chosen(few: int = FEW) -> list[int]:
    """The one that was asked for, or the first ones."""
    one = os.environ.get("SIM_SEED")
    return [int(one)] if one else list(range(int(os.environ.get("SIM_SEEDS", few))))


_CHOSEN = chosen()
BATCHES = pytest.mark.parametrize(
    "seeds",
    [_CHOSEN[at : at + FEW] for at in range(0, len(_CHOSEN), FEW)],
    ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}",
)


@contextmanager
def named(seed: int) -> Iterator[None]:
    """Whatever goes wrong within, the seed is printed."""
    try:
        yield
    except BaseException:
        print(f"replay with SIM_SEED={seed}")  # noqa: T201 - the one thing a reader needs
        raise
