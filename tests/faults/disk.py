"""
A disk that forgets: the files as they may be found after the power went.

The model, unkind on purpose:
- What was written before a sync of its file began, and synced, is there.
- Every later write may be there, missing, there in part (sectors of 512 bytes, each by itself), and
  may have overtaken earlier ones. A change of length may be there or missing.
- Names (create, unlink, rename) change in order, as on a journalling file system: some first part
  of the changes since the folder's last sync is there. Syncing a file does not save its name.
- `*-shm` files are left out: SQLite rebuilds that index from the journal after a crash.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.faults.trace import Step

SECTOR = 512
FATES = ("nothing", "everything", "some", "torn", "reordered")
WEIGHTS = (3, 1, 4, 4, 2)

Image = dict[str, bytes]


@dataclass
class File:
    """The bytes that are safe, and the steps that are not yet."""

    safe: bytearray = field(default_factory=bytearray)
    pending: list[Step] = field(default_factory=list)

    def sync(self, began: int) -> None:
        """Make safe what had returned before log line `began`."""
        kept = [s for s in self.pending if s.ended < began]
        self.pending = [s for s in self.pending if s.ended >= began]
        for step in kept:
            apply(self.safe, step)


def apply(content: bytearray, step: Step) -> None:
    """Do a write or a change of length to some bytes."""
    if step.kind == "truncate":
        del content[step.offset :]
        content.extend(bytes(max(0, step.offset - len(content))))
        return
    content.extend(bytes(max(0, step.offset - len(content))))
    content[step.offset : step.offset + len(step.data)] = step.data


def sectors(step: Step) -> Iterator[Step]:
    """A write, cut where its sectors end."""
    if step.kind != "write":
        yield step
        return
    at = 0
    while at < len(step.data):
        room = SECTOR - (step.offset + at) % SECTOR
        piece = step.data[at : at + room]
        yield Step("write", step.began, step.ended, step.inode, offset=step.offset + at, data=piece)
        at += room


def survivors(pending: Sequence[Step], fate: str, rng: random.Random) -> list[Step]:
    """Which of the unsynced steps reached the disk, in the order in which they did."""
    if fate == "nothing":
        return []
    if fate == "everything":
        return list(pending)
    share = rng.choice((0.1, 0.5, 0.9, 0.99))
    pieces = [p for s in pending for p in sectors(s)] if fate == "torn" else list(pending)
    if fate == "reordered":
        rng.shuffle(pieces)
    return [p for p in pieces if rng.random() < share]


@dataclass
class Disk:
    """Files and names as steps change them. `acked` are the acknowledgements seen so far."""

    files: dict[int, File] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    renames: list[Step] = field(default_factory=list)
    acked: list[bytes] = field(default_factory=list)

    def do(self, step: Step) -> None:
        match step.kind:
            case "ack":
                self.acked.append(step.data)
            case "write" | "truncate":
                self.files[step.inode].pending.append(step)
            case "sync":
                self.files[step.inode].sync(step.began)
            case "sync_folder":
                self.names = self.named(len(self.renames))
                self.renames = []
            case _:
                self.files.setdefault(step.inode, File())
                self.renames.append(step)

    def named(self, count: int) -> dict[str, int]:
        """The names after the first `count` changes since the folder's last sync."""
        names = dict(self.names)
        for step in self.renames[:count]:
            if step.kind == "create":
                names[step.name] = step.inode
                continue
            names.pop(step.name, None)
            if step.kind == "rename":
                names[step.other] = step.inode
        return names

    def after_power_cut(self, rng: random.Random) -> Image:
        """One of the many disks that may be found now; `rng` chooses."""
        fate = rng.choices(FATES, WEIGHTS)[0]
        least = len(self.renames) if fate == "everything" else 0
        most = 0 if fate == "nothing" else len(self.renames)
        names = self.named(rng.randint(least, most))
        return {n: self.content(i, fate, rng) for n, i in names.items() if not n.endswith("-shm")}

    def content(self, inode: int, fate: str, rng: random.Random) -> bytes:
        file = self.files[inode]
        found = bytearray(file.safe)
        for step in survivors(file.pending, fate, rng):
            apply(found, step)
        return bytes(found)


def power_cuts(
    steps: Iterable[Step], points: Sequence[int], make_rng: Callable[[int], random.Random]
) -> Iterator[tuple[int, Image, tuple[bytes, ...]]]:
    """
    One image for each crash point (a number of steps done), with the acks sent before it.

    `points` ascend; the n-th image is chosen by `make_rng(n)`.
    """
    disk, done = Disk(), 0
    source = iter(steps)
    for number, point in enumerate(points):
        while done < point:
            disk.do(next(source))
            done += 1
        yield number, disk.after_power_cut(make_rng(number)), tuple(disk.acked)
