"""A folder with a plugin in it, and the action that runs it in real child processes."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from router.actions.python import PythonAction
from router.kinds.python import PythonCall
from router.model.job import Outcome
from tests.begun import as_dispatched
from tests.sim.makers import a_job

PATIENCE_S = 20.0


def a_python_call(folder: Path, function: str, **changes: Any) -> PythonCall:
    """A call whose time limit only a hanging test meets."""
    values: dict[str, Any] = {
        "function": function,
        "args": {},
        "secrets": {},
        "timeout_s": PATIENCE_S,
        "event": {"payload": {}, "received_at": "2026-01-01T00:00:00.000Z"},
        "env": {"PATH": "/usr/bin:/bin"},
        "cwd": str(folder),
    }
    return PythonCall(**{**values, **changes})


class Rig:
    """`plugins/tried.py` in a folder, called by the names of its functions."""

    def __init__(self, folder: Path, action: PythonAction) -> None:
        self.folder = folder
        self.action = action
        (folder / "plugins").mkdir(exist_ok=True)

    def write(self, source: str, name: str = "tried") -> None:
        """Make this text the plugin's."""
        (self.folder / "plugins" / f"{name}.py").write_text(source)

    async def run(self, function: str, **changes: Any) -> Outcome:
        """Call `tried:FUNCTION`, or `MODULE:FUNCTION`."""
        name = function if ":" in function else f"tried:{function}"
        call = a_python_call(self.folder, name, **changes)
        return await as_dispatched(self.action, call, a_job(kind="python"))

    async def value(self, function: str, **changes: Any) -> Any:
        """What a call that succeeds returns."""
        return (await self.run(function, **changes)).result["value"]


@contextlib.asynccontextmanager
async def running_rig(folder: Path, source: str, **settings: Any) -> AsyncIterator[Rig]:
    """A rig with this plugin; every child is gone afterwards."""
    action = PythonAction(**settings)
    rig = Rig(folder, action)
    rig.write(source)
    try:
        yield rig
    finally:
        await action.close()
