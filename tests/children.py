"""The children of a process, those that nobody has waited for included."""

from pathlib import Path


def children(of: int | str = "self") -> set[int]:
    """
    Their process ids; of this one, a browser or a router of another test may be among them.
    """
    found: set[int] = set()
    for thread in Path(f"/proc/{of}/task").iterdir():
        found |= {int(pid) for pid in (thread / "children").read_text("ascii").split()}
    return found
