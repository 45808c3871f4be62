"""Commands that mean harm: each attempt ends in the right class, and keeps the loop for nobody."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from router.actions.shell import ShellAction
from router.model.job import Outcome, RetryOutcome
from tests.begun import as_dispatched
from tests.hostile.commands import COMMANDS
from tests.hostile.turns import watched
from tests.sim.makers import a_job, a_shell_call

pytestmark = pytest.mark.long

LIMIT_S = 0.4
PATIENCE_S = 60.0


def _class_of(outcome: Outcome) -> str:
    return outcome.failure if isinstance(outcome, RetryOutcome) else type(outcome).__name__.lower()


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """
    Where files are handed over. A tree in it may be deeper than Python can remove, so it is not
    where pytest cleans up: a run that was killed here would end the ones after it, too.
    """
    made = tempfile.mkdtemp(prefix="hostile-")
    monkeypatch.setattr(tempfile, "tempdir", made)
    yield Path(made)
    subprocess.run(["rm", "-rf", made], check=True)


def test_pytest_never_has_to_clean_up_after_them(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.getbasetemp().resolve()
    assert not folder.resolve().is_relative_to(root)
    assert "pytest-of-" not in str(folder.resolve())


@pytest.mark.parametrize("name", COMMANDS)
async def test_a_command_that_means_harm(name: str, folder: Path) -> None:
    expected, argv, files = COMMANDS[name]
    call = a_shell_call(
        *argv,
        files=(("GIVEN", b"a secret of the sender"),) if files else (),
        timeout_s=LIMIT_S if expected == "timeout" else PATIENCE_S,
    )
    with watched():
        outcome = await as_dispatched(ShellAction(), call, a_job(kind="shell"))
    assert _class_of(outcome) == expected, outcome
    assert not list(folder.glob("*/GIVEN")), "what was handed over is gone"
