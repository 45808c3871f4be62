"""A model and its mutants: the model holds whatever happens, and every mutant fails."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
RULES = {
    "fleet": ("FENCE", "DEDUPE", "FIRST", "HAND_ON", "DEAD_COUNT", "SHARE"),
    "rules": ("IN_FORCE",),
}
"""Each model, and the rules that a mutant of it leaves out."""
PATIENCE_S = 120
DEPTH = 100_000
"""Steps of the longest history that is followed; a longer one would be reported."""
_STATES = re.compile(r"(\d+) states, stored")
_VIOLATED = re.compile(r"assertion violated (.*) \(at depth")


class Checked(NamedTuple):
    """What came of a model: how many states it has, and which promise it breaks, if any."""

    model: str
    without: str | None
    states: int
    violated: str | None

    @property
    def wrong(self) -> bool:
        """A model that breaks a promise, or a mutant that breaks none."""
        return (self.violated is None) is (self.without is not None)


def all_checked(folder: Path) -> Iterator[Checked]:
    """Every model and every mutant, in turn; what is made lies in `folder`."""
    for model, rules in RULES.items():
        for without in (None, *rules):
            yield checked(model, without, folder)


def checked(model: str, without: str | None, folder: Path) -> Checked:
    """Look at every state that the model can come to."""
    defined = [] if without is None else [f"-D{without}=0"]
    _run(folder, "spin", *defined, "-a", str(HERE / f"{model}.pml"))
    # Breadth first is the longer search, but a mutant fails early in it.
    order = () if without is None else ("-DBFS",)
    _run(folder, "cc", "-O1", "-w", "-DSAFETY", "-DMEMLIM=4096", *order, "-o", "pan", "pan.c")
    said = _run(folder, "./pan", "-E", f"-m{DEPTH}")
    if any(word in said for word in ("not completed", "too small")) and "violated" not in said:
        raise RuntimeError(f"{model} was not searched to its end:\n{said}")
    (states,) = _STATES.findall(said)
    violated = _VIOLATED.search(said)
    return Checked(model, without, int(states), violated and violated[1])


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout
