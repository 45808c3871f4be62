"""The program of another commit, to stand beside this one on the same database."""

from pathlib import Path

from benchmarks.baseline import NoBaseline, archived
from tests.acceptance.process import ROOT

SCHEMA = Path("router", "store", "postgres", "schema.sql")


def program_of(ref: str, folder: Path) -> str:
    """
    The commit's files in this folder; its short name.

    Raises:
        NoBaseline: there is no such commit, or it makes other tables than this one.
    """
    name = archived(ref, folder)
    if not makes_our_tables(folder):
        raise NoBaseline(f"{name} cannot stand beside this program: its tables are not ours")
    return name


def makes_our_tables(code: Path) -> bool:
    """Whether the program that lies there makes the tables of this one."""
    place = code / SCHEMA
    return place.is_file() and place.read_bytes() == (ROOT / SCHEMA).read_bytes()
