"""The map of the house, in the package's docstring, against the house."""

import pkgutil
import re
import tomllib
from pathlib import Path

import router

ROOT = Path(__file__).parents[2]


def mapped() -> list[list[str]]:
    """The rooms, line by line from the bottom up; a folder has a slash."""
    lines = re.findall(r"^    (\w+/?(?:, \w+/?)*)  ", router.__doc__ or "", re.MULTILINE)
    return [line.split(", ") for line in lines]


def test_every_room_is_on_the_map_and_no_other() -> None:
    rooms = {
        f"{room.name}/" if room.ispkg else room.name
        for room in pkgutil.iter_modules(router.__path__)
        if room.name not in ("__main__", "_version")
    }
    named = [room for line in mapped() for room in line]
    assert set(named) == rooms
    assert len(named) == len(rooms)


def test_the_map_is_in_the_order_of_the_imports() -> None:
    """As the layers of pyproject.toml, which are checked, have it: from the bottom up."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    [layers] = [c["layers"] for c in contract["tool"]["importlinter"]["contracts"]]
    floor = {
        room: number for number, layer in enumerate(reversed(layers)) for room in layer.split(" | ")
    }
    climbed = [[floor[room.rstrip("/")] for room in line] for line in mapped()]
    assert [min(line) for line in climbed] == sorted(min(line) for line in climbed)
