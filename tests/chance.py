"""Chance that a test decides, and how much of many a run tries that somebody waits for."""

import random
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

QUICK = 4


def examples(count: int) -> int:
    """So many under the profile `ci`; a part of them in a run that somebody waits for."""
    return count if settings.get_current_profile_name() == "ci" else count // QUICK


def thinned(cases: Iterable[Any], *, one_of: int) -> list[Any]:
    """The cases, of which all but one of so many are left to the long form."""
    return [
        case if at % one_of == 0 else pytest.param(case, marks=pytest.mark.long)
        for at, case in enumerate(cases)
    ]


class Always(random.Random):
    """The same number each time: 0 draws the least that can be drawn, 1 the most."""

    def __init__(self, drawn: float) -> None:
        super().__init__(1)
        self._drawn = drawn

    def random(self) -> float:
        """What `uniform` is made of."""
        return self._drawn
