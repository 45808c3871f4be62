"""One child process that runs plugin functions, as the router sees it."""

import asyncio
from collections.abc import Mapping

import msgspec

from router.actions.child import CHUNK
from router.actions.tethered import Tethered
from router.plugin_host.result import RESULT_MAX
from router.plugin_host.wire import Answer, Begun, Ended, Ready

ANSWER_MAX = 256 * 1024
"""Of one frame: a result, a traceback, a reason. A plugin can write frames of its own making."""
LAST_WORDS_S = 0.2
"""How long an answer may still be on its way when the process has gone."""

GONE_S = 0.5

Heard = asyncio.Future[Ready | Ended | None]

_ANSWERS: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


class BrokenPluginChild(Exception):
    """The process sent something that is no answer to its call."""


class PluginChild:
    """
    A running `router.plugin_host`, one call at a time.

    `module` is the SHA-256 of the module that the present call runs, empty until that is known.
    `calls` counts the calls. `version`, `doubted` and `idle_since` are the caller's own marks.

    Raises: as `Tethered`.
    """

    def __init__(self, folder: str, env: Mapping[str, str], memory: int, version: object) -> None:
        self._tethered = Tethered("router.plugin_host", folder, env, memory)
        self._child, self._socket = self._tethered.child, self._tethered.socket
        self._read, self._unsent = bytearray(), memoryview(b"")
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket.fileno(), self._readable)
        self._heard: Heard = self._loop.create_future()
        self._turn = 0
        self._call = ""
        self._modules: dict[str, str] = {}
        self._begun = self._silent = False
        self.gone = asyncio.ensure_future(self._child.exited())
        self.gone.add_done_callback(self._on_gone)
        self.folder, self.version = folder, version
        self.calls = 0
        self.doubted = False
        self.idle_since = 0.0
        self.module = ""

    @property
    def code(self) -> int:
        """The exit status, negative for a signal, once `gone` is done."""
        return self._child.code

    @property
    def usable(self) -> bool:
        """Whether it lives, is listened to, and what it prints is still read."""
        child = self._child
        return not (self._silent or self.gone.done() or child.stdout.closed or child.stderr.closed)

    async def ready(self) -> bool:
        """Wait for a started process to listen; False: it has ended instead."""
        return isinstance(await self._heard, Ready)

    def ask(self, turn: int, function: str, request: bytes, body: bytes) -> Heard:
        """
        Call a function: the end of the call, or None when the process ended without a word.

        Raises:
            BrokenPluginChild: (the future does) the process talks nonsense.
        """
        self.calls += 1
        self.output()  # what an earlier call's threads still printed is not this one's
        self._turn, self._call, self._begun = turn, function, False
        self.module = self._modules.get(function, "")
        self._heard = self._loop.create_future()
        if self._silent or self.gone.done():
            self._heard.set_result(None)
        else:
            self._send(request, body)
        return self._heard

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
        self._end_listening()
        self._tethered.close()

    # -- the socket -------------------------------------------------------------------------------

    def _send(self, request: bytes, body: bytes) -> None:
        try:
            sent = self._socket.sendmsg((request, body))
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:  # closed or reset: it ends, or is about to be ended
            self._hear(None)
            return
        if sent < len(request) + len(body):
            self._unsent = memoryview(request + body)[sent:]
            self._loop.add_writer(self._socket.fileno(), self._writable)

    def _writable(self) -> None:
        try:
            self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._unsent = self._unsent[:0]
            self._hear(None)
        if not self._unsent:
            self._loop.remove_writer(self._socket.fileno())

    def _readable(self) -> None:
        try:
            chunk = self._socket.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._end_listening()
            self._hear(None)
            return
        self._read += chunk
        try:
            self._take_frames()
        except (BrokenPluginChild, ValueError, RecursionError):
            self._end_listening()
            if not self._heard.done():
                self._heard.set_exception(BrokenPluginChild())
                self._heard.exception()  # seen: of a call that was broken off nobody asks

    def _take_frames(self) -> None:
        read = self._read
        while len(read) >= 4:
            end = 4 + int.from_bytes(read[:4], "big")
            if end > 4 + ANSWER_MAX:
                raise BrokenPluginChild
            if len(read) < end:
                break
            answer = _ANSWERS.decode(read[4:end])
            del read[:end]
            self._meet(answer)

    def _meet(self, answer: Answer) -> None:
        """What a frame means to the call that waits; one that nobody waits for is nonsense."""
        if self._heard.done():
            raise BrokenPluginChild
        if isinstance(answer, Ready):
            if self.calls:
                raise BrokenPluginChild
        elif not self.calls or answer.turn != self._turn:
            raise BrokenPluginChild
        elif isinstance(answer, Begun):
            if self._begun:  # at most one, never a stream of them
                raise BrokenPluginChild
            self._begun = True
            self.module = self._modules[self._call] = answer.module
            return
        elif len(answer.value) > RESULT_MAX:
            raise BrokenPluginChild
        self._hear(answer)

    def _hear(self, answer: Ready | Ended | None) -> None:
        if not self._heard.done():
            self._heard.set_result(answer)

    def _end_listening(self) -> None:
        if not self._silent:
            self._silent = True
            self._loop.remove_reader(self._socket.fileno())
            self._loop.remove_writer(self._socket.fileno())

    def _on_gone(self, _: "asyncio.Future[None]") -> None:
        """Whoever else holds its socket is not waited for."""
        if not self._heard.done():
            self._loop.call_later(LAST_WORDS_S, self._hear, None)
