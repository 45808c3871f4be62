"""
Functions of `plugins/` that say whether requests are genuine: 250 ms each, in processes of their
own, which no action shares.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping

import msgspec

from router.actions.python import START_S, PythonAction
from router.kinds.python import PythonCall
from router.kinds.shell import CHILD_VARIABLES
from router.model.headers import joined_headers
from router.model.job import Done
from router.providers.waiting import FunctionProof

PROOF_S = 0.25
AT_ONCE = 2
"""So many processes run one function at a time: who sends much to it delays nobody else."""


class FunctionProofs:
    """Asks the functions. `python` runs them, `environ` is the router's own environment."""

    def __init__(self, python: PythonAction, environ: Mapping[str, str]) -> None:
        self._python = python
        self._env = {name: environ[name] for name in CHILD_VARIABLES if name in environ}
        self._turns = defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(AT_ONCE))

    async def ask(self, wanted: FunctionProof, folder: str) -> bool | str:
        """What the function of this folder's plugins says; a text: why it said neither."""
        call = self._call(wanted, folder)
        async with self._turns[wanted.function]:
            # Neither the start of a process nor an import is part of the function's own time.
            outcome = await self._python.run(_search(call))
            if isinstance(outcome, Done):
                outcome = await self._python.run(call)
        if not isinstance(outcome, Done):
            return outcome.reason
        value = outcome.result["value"]
        return value if isinstance(value, bool) else "it returned neither True nor False"

    async def close(self) -> None:
        """End every process."""
        await self._python.close()

    def _call(self, wanted: FunctionProof, folder: str) -> PythonCall:
        texts = tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in wanted.headers)
        secrets = (s.value.decode("utf-8", "replace") for s in wanted.secrets)
        return PythonCall(
            function=wanted.function,
            args={},
            secrets={str(number): text for number, text in enumerate(secrets)},
            timeout_s=PROOF_S,
            event={"headers": joined_headers(texts)},
            body=wanted.body,
            env=self._env,
            cwd=folder,
            task="prove",
        )


def _search(call: PythonCall) -> PythonCall:
    """The same process is asked to import the function; nothing of the request goes there yet."""
    return msgspec.structs.replace(
        call, task="find", event={}, body=b"", secrets={}, timeout_s=START_S
    )
