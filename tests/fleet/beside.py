"""The program of another commit, to stand beside this one on the same database."""

import re
from pathlib import Path
from typing import NamedTuple

from benchmarks.baseline import NoBaseline, archived
from tests.acceptance.process import ROOT

STORE = Path("router", "store", "postgres")


class Schema(NamedTuple):
    """
    The migrations that a program knows, in order, and the lowest number of them that another one
    may know and still work on its tables.
    """

    migrations: tuple[str, ...]
    oldest_program: int


def program_of(ref: str, folder: Path) -> str:
    """
    The commit's files in this folder; its short name.

    Raises:
        NoBaseline: there is no such commit, or it and this one cannot work on the same tables.
    """
    name = archived(ref, folder)
    if why := unfit(schema_of(folder), schema_of(ROOT)):
        raise NoBaseline(f"{name} cannot stand beside this program: {why}")
    return name


def schema_of(code: Path) -> Schema | None:
    """Of the program that lies there; None: it has no PostgreSQL store."""
    if not (code / STORE).is_dir():
        return None
    said = (code / STORE / "schema.py").read_text("utf-8")
    [oldest] = re.findall(r"^OLDEST_PROGRAM = (\d+)$", said, re.MULTILINE)
    files = sorted((code / STORE / "migrations").glob("[0-9]*.sql"))
    return Schema(tuple(file.read_text("utf-8") for file in files), int(oldest))


def unfit(theirs: Schema | None, ours: Schema | None) -> str | None:
    """Why two programs cannot share tables; None: they can."""
    if theirs is None or ours is None:
        return "it has no PostgreSQL store"
    both = zip(theirs.migrations, ours.migrations, strict=False)
    for number, (one, other) in enumerate(both, 1):
        if one != other:
            return f"its migration {number} makes other tables than ours"
    newer, older = sorted((theirs, ours), key=lambda one: len(one.migrations), reverse=True)
    if len(older.migrations) < newer.oldest_program:
        return "the newer of both has taken away what the older one needs"
    return None
