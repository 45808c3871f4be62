"""`router test --watch`: again when a file changes, and a clean end."""

from collections.abc import Callable
from pathlib import Path

import pytest

from router.cli.test_watch import watch
from router.errors import UsageError

RULES = "version: 1\ninclude: more.yaml\n"


class Scenes:
    """What happens while nothing does: one change after the other, then Ctrl-C."""

    def __init__(self, *changes: Callable[[], object]) -> None:
        self._changes = list(changes)
        self.quiet = 0

    def __call__(self) -> None:
        self.quiet += 1
        if not self._changes:
            raise KeyboardInterrupt
        self._changes.pop(0)()


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    for name, text in (("rules.yaml", RULES), ("more.yaml", ""), ("order.json", "{}")):
        (tmp_path / name).write_text(text)
    (tmp_path / "plugins").mkdir()
    return tmp_path / "rules.yaml"


def test_every_file_that_matters_runs_them_again(rules: Path) -> None:
    names = ("rules.yaml", "more.yaml", "rules.test.yaml", "more.test.yaml", "plugins/a.py")
    names = (*names, "order.json", "rules.snapshots.json")

    def changed(name: str) -> Callable[[], object]:
        return lambda: (rules.parent / name).write_text(RULES + f"# {name}\n")

    codes = iter(range(100))
    needed = [str(rules.parent / name) for name in ("order.json", "rules.snapshots.json")]
    scenes = Scenes(*(changed(name) for name in names))
    assert watch(rules, lambda: (next(codes), needed), pause=scenes) == len(names)


def test_what_is_written_again_or_does_not_matter_runs_nothing(rules: Path) -> None:
    scenes = Scenes(
        lambda: rules.write_text(RULES), lambda: (rules.parent / "other.yaml").write_text("x")
    )
    codes = iter((0, 1))
    assert watch(rules, lambda: (next(codes), ()), pause=scenes) == 0
    assert scenes.quiet == 3


def test_a_file_that_cannot_be_used_is_said_and_waited_for(
    rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []

    def once() -> tuple[int, tuple[str, ...]]:
        runs.append(1)
        if len(runs) == 1:
            raise UsageError("no good")
        return 0, ()

    scenes = Scenes(lambda: rules.write_text(RULES + "# mended\n"))
    assert watch(rules, once, pause=scenes) == 0
    assert "router: no good\n" in capsys.readouterr().err


def test_ctrl_c_while_tests_run_ends_too(rules: Path) -> None:
    def once() -> tuple[int, tuple[str, ...]]:
        raise KeyboardInterrupt

    assert watch(rules, once) == 1
