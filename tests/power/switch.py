"""
The switches of bugs in a copy of the router: `_mut(7)` is true while bug 7 is on.

This file is `router/_power.py` of the copy. The bug that is on stands in a file of the copy, so a
process that a test starts has it on too, whatever its environment. Such a process appends the bugs
that it reaches to another file.
"""

import builtins
from contextlib import suppress
from pathlib import Path


class Switches:
    """The bug that is on, and the bugs that this process has reached."""

    def __init__(self, folder: Path) -> None:
        self._on_file, self._reached_file = folder / "power.on", folder / "power.reached"
        self._on, self._reached, self.is_child = -1, set[int](), True
        with suppress(OSError, ValueError):
            self._on = int(self._on_file.read_text())

    def __call__(self, bug: int) -> bool:
        """Whether this bug is on; note that it was reached."""
        if bug not in self._reached:
            self._reached.add(bug)
            if self.is_child:
                with suppress(OSError), self._reached_file.open("a") as file:
                    file.write(f"{bug}\n")
        return bug == self._on

    def turn(self, bug: int) -> None:
        """Turn this bug on and all others off, here and in processes started from now on."""
        self._on = bug
        self._on_file.write_text(str(bug))
        self._reached.clear()
        self._reached_file.write_text("")

    def reached(self) -> set[int]:
        """Return the bugs reached since the last turn, in this process or one it started."""
        return self._reached | {int(line) for line in self._reached_file.read_text().split()}


if "_mut" not in vars(builtins):
    vars(builtins)["_mut"] = Switches(Path(__file__).parents[1])
