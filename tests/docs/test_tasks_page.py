"""docs/dev/tasks.md is made of the tasks that are really done."""

from pathlib import Path

from tests.golden.made import made_of
from tests.tasks.table import COMMANDS, PAGES, Task

PAGE = Path(__file__).parents[2] / "docs" / "dev" / "tasks.md"
COLUMNS = "| | task | before | now | steps now |\n|---|---|---|---|---|\n"
HEAD = """\
# Thirty tasks of an operator

What each took at commit `ccf41f84`, before there were the overview, `router status`, logins,
tokens by name and alerts to copy, and what it takes now. A step is one line typed, one file
edited, or one click. `pytest -m long tests/tasks` does the tasks of the command line at a real
router, as they stand here; `pytest tests/browser/test_tasks.py` those in a browser.

{sums}
"""


def count(steps: tuple[str, ...] | None) -> str:
    return "-" if steps is None else str(len(steps))


def sums() -> str:
    """What all of them took, of those that could be done before."""
    both = [task for task in (*COMMANDS, *PAGES) if task.before is not None]
    before = sum(len(task.before or ()) for task in both)
    after = sum(len(task.after) for task in both)
    new = len(COMMANDS) + len(PAGES) - len(both)
    return (
        f"The {len(both)} that could be done before took {before} steps, now {after}; "
        f"{new} could not be done."
    )


def page() -> str:
    lines = [HEAD.format(sums=sums())]
    number = 0
    for title, tasks in (("At the command line", COMMANDS), ("In a browser", PAGES)):
        lines.append(f"\n## {title}\n\n{COLUMNS}")
        for task in tasks:
            number += 1
            lines.append(row(number, task))
    return "".join(lines)


def row(number: int, task: Task) -> str:
    steps = "; ".join(f"`{s}`" if s.startswith("router ") else s for s in task.after)
    return f"| {number} | {task.wants} | {count(task.before)} | {len(task.after)} | {steps} |\n"


def test_the_page_says_what_is_done() -> None:
    assert made_of(PAGE, page()) == page()


def test_there_are_thirty() -> None:
    assert len(COMMANDS) + len(PAGES) == 30
