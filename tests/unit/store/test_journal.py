"""A journal that the disk has changed is refused; one that a power cut has torn is not."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from router.errors import StoreRefused
from router.store.sqlite import journal
from router.store.sqlite.store import open_store
from router.store.sqlite.writer import CHECKPOINT_PAGES
from router.store.sqlite.writer_state import Book
from router.store.values import Selector
from tests.clocks import ManualClock
from tests.store_values import Maker

HEADER, FRAME = 32, 4096 + 24
Change = Callable[[bytearray], None]


def due(book: Book) -> None:
    """A checkpoint comes before the next commit, as after many small ones: not one large one."""
    book.pages = CHECKPOINT_PAGES


async def left_behind(folder: Path, clock: ManualClock, commits: int, *, reset: int = 0) -> Path:
    """The files of a store whose process died after so many commits, the last few in a new use."""
    path, left = folder / "router.db", folder / "left" / "router.db"
    make, store = Maker(), await open_store(str(path), clock=clock)
    for number in range(commits):
        await store.accept(make.acceptance())
        if reset and number == commits - reset - 1:
            await store._writer.submit("work", lambda book: book.later.append(lambda: due(book)))
    left.parent.mkdir()
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{path}{suffix}", f"{left}{suffix}")
    await store.close()
    return left


def frames(content: bytes) -> list[int]:
    """The offsets of the frames that end a transaction."""
    every = range(HEADER, len(content) - FRAME + 1, FRAME)
    salt = content[16:24]
    return [
        at for at in every if content[at + 8 : at + 16] == salt and any(content[at + 4 : at + 8])
    ]


def changed(path: Path, offset: int) -> None:
    name = Path(f"{path}-wal")
    content = bytearray(name.read_bytes())
    content[offset] ^= 0x10
    name.write_bytes(content)


async def kept(path: Path, clock: ManualClock) -> int:
    store = await open_store(str(path), clock=clock)
    found = await store.reads.deliveries(Selector())
    await store.close()
    return len(found)


async def test_a_journal_as_it_was_left_is_read(tmp_path: Path, clock: ManualClock) -> None:
    path = await left_behind(tmp_path, clock, 5)
    journal.check(path)
    assert await kept(path, clock) == 5


@pytest.mark.parametrize("offset", [4, 12, 20, 24, 2_000])
async def test_a_change_with_commits_behind_it_is_refused(
    tmp_path: Path, clock: ManualClock, offset: int
) -> None:
    """Wherever in the frame it is; and both files stay as they are."""
    path = await left_behind(tmp_path, clock, 5)
    changed(path, HEADER + FRAME * 3 + offset)
    before = [Path(f"{path}{s}").read_bytes() for s in ("", "-wal")]
    with pytest.raises(StoreRefused, match=r"frame \d+ cannot be read.*restore a backup"):
        await open_store(str(path), clock=clock)
    assert [Path(f"{path}{s}").read_bytes() for s in ("", "-wal")] == before


async def test_a_changed_head_is_refused(tmp_path: Path, clock: ManualClock) -> None:
    path = await left_behind(tmp_path, clock, 3)
    changed(path, 17)
    with pytest.raises(StoreRefused, match="its head is not what was written"):
        await open_store(str(path), clock=clock)


async def test_a_torn_last_transaction_is_left_out(tmp_path: Path, clock: ManualClock) -> None:
    """A power cut does that to what was not synced, and so not acknowledged."""
    path = await left_behind(tmp_path, clock, 4)
    changed(path, frames(Path(f"{path}-wal").read_bytes())[-1] + 2_000)
    assert await kept(path, clock) == 3


async def test_frames_of_an_earlier_use_of_the_file_do_not_count(
    tmp_path: Path, clock: ManualClock
) -> None:
    path = await left_behind(tmp_path, clock, 9, reset=2)
    content = Path(f"{path}-wal").read_bytes()
    assert len(frames(content)) == 2
    assert len(content) > frames(content)[-1] + 4 * FRAME
    changed(path, frames(content)[-1] + 2_000)
    assert await kept(path, clock) == 8


async def test_a_commit_that_failed_half_way_does_not_count(
    tmp_path: Path, clock: ManualClock
) -> None:
    """On a full disk: ends of transactions that were never written whole lie behind the last."""
    path = await left_behind(tmp_path, clock, 3)
    name = Path(f"{path}-wal")
    content = name.read_bytes()
    last = content[frames(content)[-1] :][:FRAME]
    name.write_bytes(content + last[:24] + bytes(4096) + last[:24] + bytes(4096))
    assert await kept(path, clock) == 3


@pytest.mark.parametrize("content", [b"", bytes(32), bytes(9_000)])
async def test_a_journal_that_holds_nothing_is_no_news(
    tmp_path: Path, clock: ManualClock, content: bytes
) -> None:
    path = tmp_path / "router.db"
    await (await open_store(str(path), clock=clock)).close()
    Path(f"{path}-wal").write_bytes(content)
    assert await kept(path, clock) == 0
