"""The children of this process, those that nobody has waited for included."""

from pathlib import Path


def children() -> set[int]:
    """Their process ids; a browser or a router of another test may be among them."""
    found: set[int] = set()
    for thread in Path("/proc/self/task").iterdir():
        found |= {int(pid) for pid in (thread / "children").read_text("ascii").split()}
    return found
