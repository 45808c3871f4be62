"""The house is kept: tests stand where what they prove stands."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UNIT = ROOT / "tests" / "unit"
FILES = sorted(p.relative_to(UNIT) for p in UNIT.rglob("test_*.py"))


def room(test: Path) -> bool:
    """Whether router/ has the folder of this test, or the module that its folder is named for."""
    place = ROOT / "router" / test.parent
    return place.is_dir() or place.with_suffix(".py").is_file()


@pytest.mark.parametrize("test", FILES, ids=str)
def test_a_unit_test_stands_where_its_room_stands(test: Path) -> None:
    assert room(test), f"tests/unit/{test} proves nothing that router/{test.parent} has"


def test_there_are_unit_tests() -> None:
    assert FILES


def test_a_test_of_no_room_is_found() -> None:
    assert not room(Path("cellar/test_wine.py"))


def test_every_folder_of_unit_tests_is_a_package() -> None:
    """Else two files of one name cannot both be collected."""
    folders = {UNIT / f.parent for f in FILES} | {UNIT}
    assert [f for f in folders if not (f / "__init__.py").is_file()] == []
