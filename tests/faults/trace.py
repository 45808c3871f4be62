"""
What a process did to its files, read from an strace log.

`record` runs a command under strace; `read` turns the log into steps in the order in which they
count. Calls of several threads overlap, so each step stands where it is least kind to the program:
a write counts from its beginning (it may reach the disk before it returns), a sync from its end and
only for writes that had returned before it began, an acknowledgement from its beginning.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CALLS = (
    "openat,open,creat,close,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,"
    "fdatasync,fsync,rename,renameat,renameat2,unlink,unlinkat,link,linkat,sendto,sendmsg"
)
STARTED = re.compile(r"^(\d+)\s+(\w+)\((.*)$")
RESUMED = re.compile(r"^(\d+)\s+<\.\.\. (\w+) resumed>(.*)$")
RETURNED = re.compile(r"\)\s+=\s+(-?\d+)[^=]*$")
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
SENDS = {"write", "writev", "sendto", "sendmsg"}
UNFINISHED = " <unfinished ...>"


class UnknownCall(Exception):
    """The program changed a file of ours by a call that the disk model does not know."""


@dataclass(frozen=True)
class Call:
    """One system call that succeeded, from log line `began` to log line `ended`."""

    began: int
    ended: int
    name: str
    arguments: str
    result: int

    def texts(self) -> list[bytes]:
        return [bytes.fromhex(t.replace("\\x", "")) for t in TEXT.findall(self.arguments)]

    def numbers(self) -> list[int]:
        """The numeric arguments, strings left out."""
        plain = TEXT.sub("", self.arguments)
        return [int(n) for n in re.findall(r"(?<![\w.])-?\d+(?!\w)", plain)]


@dataclass(frozen=True)
class Step:
    """
    One thing that counts: `create`, `write`, `truncate`, `sync`, `unlink`, `rename`, `sync_folder`
    or `ack`. `inode` is a number of our own; `began` and `ended` are log lines.
    """

    kind: str
    began: int
    ended: int
    inode: int = -1
    name: str = ""
    other: str = ""
    offset: int = 0
    data: bytes = b""


def tracer(log: Path) -> tuple[str, ...]:
    """The command that runs another and writes its calls to `log`."""
    every = ("-f", "-qq", "-xx", "-s", "67108864", "-e", f"trace={CALLS}", "-e", "signal=none")
    return ("strace", *every, "-o", str(log))


def record(command: Sequence[str], log: Path, *, cwd: Path) -> None:
    """Run the command under strace to its end. Raises CalledProcessError if it fails."""
    full = [*tracer(log), *command]
    subprocess.run(full, check=True, cwd=cwd, stdout=subprocess.DEVNULL, stderr=sys.stderr)


def calls(log: Path) -> Iterator[Call]:
    """Every call of the log that succeeded, in order of their ends."""
    open_calls: dict[str, tuple[int, str, str]] = {}
    for number, line in enumerate(log.read_text("ascii", "replace").splitlines()):
        if started := STARTED.match(line):
            thread, name, rest = started.groups()
            if rest.endswith(UNFINISHED):
                open_calls[thread] = (number, name, rest.removesuffix(UNFINISHED))
                continue
            began = number
        elif resumed := RESUMED.match(line):
            thread, name, tail = resumed.groups()
            began, _, head = open_calls.pop(thread)
            rest = head + tail
        else:
            continue
        returned = RETURNED.search(rest)
        if returned and int(returned[1]) >= 0:
            yield Call(began, number, name, rest[: returned.start()], int(returned[1]))


@dataclass
class _Reader:
    """The descriptors of the traced process, and what is opened in the folder we watch."""

    folder: Path
    is_ack: Callable[[int, bytes], bool]
    names: dict[str, int] = field(default_factory=dict)
    descriptors: dict[int, int] = field(default_factory=dict)
    positions: dict[int, int] = field(default_factory=dict)
    folders: set[int] = field(default_factory=set)
    inodes: int = 0

    def within(self, path: bytes) -> str | None:
        whole = Path(path.decode("utf-8", "replace"))
        return whole.name if whole.parent == self.folder else None

    def steps(self, call: Call) -> Iterator[Step]:
        match call.name:
            case "openat" | "open" | "creat":
                yield from self.opened(call)
            case "close":
                self.closed(call.numbers()[0])
            case "unlink" | "unlinkat" | "rename" | "renameat" | "renameat2" | "truncate":
                yield from self.renamed(call)
            case "link" | "linkat":
                if any(self.within(t) for t in call.texts()):
                    raise UnknownCall(call.name)
            case _:
                yield from self.changed(call)

    def opened(self, call: Call) -> Iterator[Step]:
        path = call.texts()[0]
        if Path(path.decode("utf-8", "replace")) == self.folder:
            self.folders.add(call.result)
            return
        name = self.within(path)
        if name is None:
            return
        if name not in self.names:
            self.inodes += 1
            self.names[name] = self.inodes
            yield Step("create", call.began, call.ended, self.inodes, name)
        inode = self.names[name]
        self.descriptors[call.result] = inode
        self.positions[call.result] = 0
        if "O_TRUNC" in call.arguments or call.name == "creat":
            yield Step("truncate", call.began, call.ended, inode)

    def closed(self, descriptor: int) -> None:
        self.folders.discard(descriptor)
        self.descriptors.pop(descriptor, None)

    def renamed(self, call: Call) -> Iterator[Step]:
        inside = [self.within(t) for t in call.texts()]
        if not any(inside):
            return
        if call.name == "truncate" or None in inside:
            raise UnknownCall(call.name)
        names = [n for n in inside if n is not None]
        inode = self.names.pop(names[0])
        if len(names) == 1:
            yield Step("unlink", call.began, call.ended, inode, names[0])
        else:
            self.names[names[1]] = inode
            yield Step("rename", call.began, call.ended, inode, names[0], names[1])

    def changed(self, call: Call) -> Iterator[Step]:
        numbers = call.numbers()
        descriptor = numbers[0]
        if call.name in SENDS and descriptor not in self.descriptors:
            data = b"".join(call.texts())
            if self.is_ack(descriptor, data):
                yield Step("ack", call.began, call.ended, data=data)
            return
        if descriptor in self.folders and call.name in {"fsync", "fdatasync"}:
            yield Step("sync_folder", call.began, call.ended)
        inode = self.descriptors.get(descriptor)
        if inode is None:
            return
        lines = (call.began, call.ended, inode)
        match call.name:
            case "pwrite64":
                data = call.texts()[0][: call.result]
                yield Step("write", *lines, offset=numbers[-1], data=data)
            case "write":
                data = call.texts()[0][: call.result]
                yield Step("write", *lines, offset=self.positions[descriptor], data=data)
                self.positions[descriptor] += call.result
            case "ftruncate":
                yield Step("truncate", *lines, offset=numbers[-1])
            case "fdatasync" | "fsync":
                yield Step("sync", *lines)
            case _:
                raise UnknownCall(call.name)


def on_stdout(descriptor: int, data: bytes) -> bool:
    """The acknowledgement of a process that prints it."""
    return descriptor == 1 and bool(data)


def read(
    log: Path, folder: Path, *, is_ack: Callable[[int, bytes], bool] = on_stdout
) -> list[Step]:
    """
    The steps that touch files directly in `folder`, and what is sent elsewhere and `is_ack`.

    Raises:
        UnknownCall: a file was changed in a way the disk model does not know.
    """
    early = {"pwrite64", "ftruncate", "close", "unlink", "rename", *SENDS}
    ordered = sorted(calls(log), key=lambda c: c.began if c.name in early else c.ended)
    reader = _Reader(folder, is_ack)
    return [step for call in ordered for step in reader.steps(call)]
