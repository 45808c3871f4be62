"""The numbers of budget.json, which may only fall."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

PATH = Path(__file__).with_name("budget.json")
COMMAND = "python -m tests.house"


def read() -> dict[str, int]:
    """The numbers that are kept."""
    found: dict[str, int] = json.loads(PATH.read_text("utf-8"))
    return found


def written(numbers: Mapping[str, int]) -> str:
    """As the file has them: a line each."""
    return json.dumps(numbers, indent=2) + "\n"


def above(numbers: Mapping[str, int], kept: Mapping[str, int]) -> list[str]:
    """What is above its number, by how much, and what to do; a line each."""
    return [
        f"{name}: {count:,}, {count - kept.get(name, 0):,} above its number in "
        f"tests/house/budget.json ({kept.get(name, 'none')}). Take as much out and run `{COMMAND}`,"
        f" which writes lower numbers; or, if it must grow, `{COMMAND} --raise {name!r}`"
        for name, count in numbers.items()
        if count > kept.get(name, 0)
    ]


def lowered(
    numbers: Mapping[str, int], kept: Mapping[str, int], raised: Collection[str] = ()
) -> dict[str, int]:
    """
    What is to be kept: the lower of both, of `raised` the present number. A package that is gone
    goes; a new one has a number only if it is raised.
    """
    return {
        name: count if name in raised else min(count, kept[name])
        for name, count in numbers.items()
        if name in kept or name in raised
    }
