"""Power cuts, a short run on every change; `python -m tests.faults.powercut` is the long one."""

import random
from pathlib import Path

import pytest

from tests.faults import disk, powercut
from tests.faults.life import needs_strace
from tests.faults.trace import Step

pytestmark = pytest.mark.long

IMAGES = 500


@needs_strace
def test_no_power_cut_loses_an_acknowledged_delivery(tmp_path: Path) -> None:
    verdict = powercut.judge(powercut.recorded(tmp_path), IMAGES)
    assert (verdict.images, verdict.odd) == (IMAGES, 0), verdict.examples
    assert verdict.acked > IMAGES  # else the images show nothing


@needs_strace
def test_the_harness_finds_the_loss_when_commits_are_not_synced(tmp_path: Path) -> None:
    verdict = powercut.judge(powercut.recorded(tmp_path, synchronous="NORMAL"), IMAGES)
    assert verdict.lossy > IMAGES / 2, str(verdict)


@needs_strace
def test_the_harness_finds_damage_when_nothing_is_synced(tmp_path: Path) -> None:
    verdict = powercut.judge(powercut.recorded(tmp_path, synchronous="OFF"), IMAGES)
    assert verdict.corrupt > 0, str(verdict)


@needs_strace
def test_one_seed_gives_one_set_of_images(tmp_path: Path) -> None:
    steps = powercut.recorded(tmp_path)
    points = [len(steps) // 3, len(steps) // 2]
    first, again = (
        [image for _, image, _ in disk.power_cuts(steps, points, random.Random)] for _ in range(2)
    )
    assert first == again


def test_what_was_synced_is_there_and_what_was_not_may_be_gone() -> None:
    steps = [
        Step("create", 0, 0, 1, "a"),
        Step("sync_folder", 1, 1),
        Step("write", 2, 2, 1, data=b"safe"),
        Step("sync", 3, 3, 1),
        Step("write", 4, 4, 1, offset=4, data=b"lost"),
    ]
    images = {
        image["a"]
        for seed in range(50)
        for _, image, _ in disk.power_cuts(steps, [5], lambda n, s=seed: random.Random(s + n))
    }
    assert images == {b"safe", b"safelost"}


def test_a_write_still_running_when_the_sync_began_is_not_synced() -> None:
    file = disk.File(
        pending=[Step("write", 1, 9, 1, data=b"late"), Step("write", 1, 2, 1, data=b"x")]
    )
    file.sync(began=5)
    assert (bytes(file.safe), len(file.pending)) == (b"x", 1)


def test_a_name_whose_folder_was_not_synced_may_be_missing() -> None:
    steps = [Step("create", 0, 0, 1, "a"), Step("write", 1, 1, 1, data=b"1"), Step("sync", 2, 2, 1)]
    seen = {
        "a" in image
        for seed in range(50)
        for _, image, _ in disk.power_cuts(steps, [3], lambda n, s=seed: random.Random(s + n))
    }
    assert seen == {True, False}


def test_a_write_is_torn_where_sectors_end() -> None:
    step = Step("write", 0, 0, 1, offset=500, data=bytes(1_000))
    assert [(s.offset, len(s.data)) for s in disk.sectors(step)] == [
        (500, 12),
        (512, 512),
        (1024, 476),
    ]
