"""One child process that runs plugin functions, as the router sees it."""

import asyncio
import os
import socket
import sys
from collections.abc import Coroutine, Mapping
from io import FileIO
from typing import Any, TypeVar

import msgspec

from router.actions.child import Child
from router.plugin_host.result import RESULT_MAX
from router.plugin_host.wire import Answer, Begun, Ended, Ready

ANSWER_MAX = 256 * 1024
"""Of one frame: a result, a traceback, a reason. A plugin can write frames of its own making."""
LAST_WORDS_S = 0.2
"""How long an answer may still be on its way when the process has gone."""

GONE_S = 0.5

A = TypeVar("A")

_ANSWERS: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


class BrokenPluginChild(Exception):
    """The process sent something that is no answer to its call."""


class PluginChild:
    """
    A running `router.plugin_host`, one call at a time.

    `module` is the SHA-256 of the module that the present call runs, empty until that is known.
    `calls` counts the calls. `version` and `doubted` are the caller's own marks. Nothing is ever
    written to the pipe `_tie`: the process and its group go when our end of it closes, as it does
    when we are killed.

    Raises:
        OSError, ValueError, SubprocessError: it cannot be started.
    """

    def __init__(self, folder: str, env: Mapping[str, str], memory: int, version: object) -> None:
        ours, theirs = socket.socketpair()
        tied, tie = map(FileIO, os.pipe(), ("rb", "wb"))
        passed = (theirs.fileno(), tied.fileno())
        command = [sys.executable, "-P", "-u", "-X", "utf8", "-X", "faulthandler"]
        command += ["-m", "router.plugin_host", *map(str, passed), str(memory)]
        try:
            self._child = Child(command, env, folder, None, pass_fds=passed, whole_group=True)
        except BaseException:
            ours.close()
            tie.close()
            raise
        finally:
            theirs.close()
            tied.close()
        ours.setblocking(False)
        self._socket, self._tie = ours, tie
        self._read = bytearray()
        self._ready = False
        self.gone = asyncio.ensure_future(self._child.exited())
        self.folder, self.version = folder, version
        self.calls = 0
        self.doubted = False
        self.module = ""

    @property
    def code(self) -> int:
        """The exit status, negative for a signal, once `gone` is done."""
        return self._child.code

    @property
    def usable(self) -> bool:
        """Whether it lives and what it prints is still read."""
        streams = (self._child.stdout, self._child.stderr)
        return not self.gone.done() and not any(s.ended.is_set() for s in streams)

    async def ready(self) -> bool:
        """Wait for a started process to listen; False: it has ended instead."""
        if not self._ready:
            self._ready = isinstance(await self._unless_gone(self._answer()), Ready)
        return self._ready

    async def ask(self, turn: int, request: bytes, body: bytes) -> Ended | None:
        """
        The end of one call, or None when the process ended without a word.

        Raises:
            Broken: the process talks nonsense.
        """
        self.calls += 1
        self.module = ""
        self.output()  # what an earlier call's threads still printed is not this one's
        return await self._unless_gone(self._exchange(turn, request, body))

    def output(self) -> tuple[bytes, bytes, bool]:
        """What was printed since the last time: stdout, stderr, and whether some was cut off."""
        (out, cut), (err, also) = self._child.stdout.take(), self._child.stderr.take()
        return out, err, cut or also

    async def end(self) -> None:
        """Kill the process and all that it started; they are gone when this returns."""
        self._child.kill()
        await self._child.exited()
        await self._child.gone(GONE_S)

    async def drained(self) -> None:
        """Read the last of what an ended process printed."""
        await self._child.drained(LAST_WORDS_S)

    def close(self) -> None:
        """Let go of it; if it still runs it is killed with its group."""
        self._socket.close()
        self._tie.close()
        self._child.close()

    async def _unless_gone(self, answer: Coroutine[Any, Any, A]) -> A | None:
        """What is answered, or None if the process ends first, whoever else holds its socket."""
        task = asyncio.ensure_future(answer)
        try:
            await asyncio.wait({task, self.gone}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait({task}, timeout=LAST_WORDS_S)
            return task.result() if task.done() else None
        except OSError:
            return None  # closed or reset: it ends, or is about to be ended
        finally:
            task.cancel()

    async def _exchange(self, turn: int, request: bytes, body: bytes) -> Ended | None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._socket, request)
        if body:
            await loop.sock_sendall(self._socket, body)
        answer = await self._answer()
        if isinstance(answer, Begun) and answer.turn == turn:  # at most one, never a stream of them
            self.module = answer.module
            answer = await self._answer()
        if answer is None:
            return None
        if not isinstance(answer, Ended) or answer.turn != turn or len(answer.value) > RESULT_MAX:
            raise BrokenPluginChild
        return answer

    async def _answer(self) -> Answer | None:
        if (head := await self._bytes(4)) is None:
            return None
        length = int.from_bytes(head, "big")
        if length > ANSWER_MAX:
            raise BrokenPluginChild
        if (text := await self._bytes(length)) is None:
            return None
        try:
            return _ANSWERS.decode(text)
        except (ValueError, RecursionError):
            raise BrokenPluginChild from None

    async def _bytes(self, count: int) -> bytes | None:
        """So many bytes, or None at the end of the stream."""
        loop = asyncio.get_running_loop()
        while len(self._read) < count:
            if not (chunk := await loop.sock_recv(self._socket, ANSWER_MAX)):
                return None
            self._read += chunk
        found = bytes(self._read[:count])
        del self._read[:count]
        return found
