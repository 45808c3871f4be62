"""A planted defect: what is changed where, and which tests must notice."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Rotten(Exception):
    """The list no longer fits the source: a text to change does not stand there exactly once."""


@dataclass(frozen=True)
class Edit:
    """In `file` (from the repository's folder) the text `old`, found once, becomes `new`."""

    file: str
    old: str
    new: str

    def found(self, root: Path) -> int:
        """How often the text stands in the file below this folder."""
        return (root / self.file).read_text(encoding="utf-8").count(self.old)


@dataclass(frozen=True)
class Defect:
    """
    One fault. `caught_by` are pytest node ids; each of them must fail while the fault is planted.

    `note` says what stands in for what, where our design has no such place.
    """

    number: int
    title: str
    edits: tuple[Edit, ...]
    caught_by: tuple[str, ...]
    note: str = ""

    def check(self, root: Path) -> None:
        """
        Nothing if every text is found once.

        Raises:
            Rotten: one is not.
        """
        for edit in self.edits:
            count = edit.found(root)
            if count != 1:
                raise Rotten(
                    f"defect {self.number} ({self.title}): found {count} times in {edit.file}, "
                    f"not once: {edit.old!r}"
                )

    def plant(self, root: Path) -> dict[Path, bytes]:
        """Change the files below this folder; gives what they held before."""
        self.check(root)
        before: dict[Path, bytes] = {}
        for edit in self.edits:
            path = root / edit.file
            before.setdefault(path, path.read_bytes())
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")
        return before


def defect(
    number: int,
    title: str,
    edits: Edit | tuple[Edit, ...],
    *caught_by: str,
    note: str = "",
) -> Defect:
    """A row of a list; most change one place."""
    several = (edits,) if isinstance(edits, Edit) else edits
    return Defect(number, title, several, tuple(f"tests/{name}" for name in caught_by), note)
