"""Two deliveries or two attempts, side by side."""

import re

import msgspec
import pytest

from router.store.values import Selector
from router.web.pages.compare import BODY_MAX, LinePair, differences, line_pairs
from tests.builders import NOW
from tests.store_values import Maker, a_settlement
from tests.unit.web.pages.rig import Rig, nodes
from tests.unit.web.pages.test_deliveries import page_of


def rows(page: str) -> dict[str, list[str]]:
    """What the table says: its cells by the path that the first has."""
    found = re.findall(r"<tr><td.*?</tr>", page, re.DOTALL)
    cells = ["".join(nodes(row.encode()).text).split("\n") for row in found]
    return {path: sides for path, *sides in cells}


async def compared(rig: Rig, one: bytes, other: bytes) -> str:
    ids = []
    for seed, body in enumerate((one, other)):
        acceptance = Maker(seed=10 + seed).acceptance(body=body)
        await rig.store.accept(acceptance)
        ids.append(acceptance.delivery.id)
    return await page_of(rig, f"/compare?id={ids[0]}&id={ids[1]}")


async def test_deliveries_differ_by_path_with_their_numbers_as_sent(free: Rig) -> None:
    page = await compared(
        free,
        b'{"a": {"x-y": [1.50, 2]}, "same": 1, "gone": "<b>"}',
        b'{"same": 1, "a": {"x-y": [1.5, 3]}, "new": null}',
    )
    found = rows(page)
    assert found['payload.a."x-y"[1]'] == ["2", "3"]
    assert found["payload.gone"] == ["<b>", "not there"]
    assert found["payload.new"] == ["not there", "null"]
    assert not [path for path in found if "same" in path or path.endswith("[0]")]


async def test_texts_differ_by_line(free: Rig) -> None:
    page = await compared(free, b"a\nb\nc", b"a\nc\nd")
    marked = re.findall(r'<div class="(\w+)">(\w*)</div>', page)
    assert marked == [
        ("same", "a"), ("same", "a"), ("gone", "b"), ("none", ""), ("same", "c"), ("same", "c"),
        ("none", ""), ("new", "d"),
    ]  # fmt: skip


async def test_what_is_the_same_or_too_large_is_said(free: Rig) -> None:
    one = free.ids["delivery"]
    assert "Nothing differs" in await page_of(free, f"/compare?id={one}&id={one}")
    large = b'"' + b"x" * BODY_MAX + b'"'
    assert "too many to compare" in await compared(free, large, b"1")


async def test_attempts_of_a_job_are_compared_or_the_last_ones_of_two(free: Rig) -> None:
    job = await free.store.reads.job(free.ids["job"])
    assert job is not None
    await free.store.revive(Selector(ids=(job.id,)), now=1)
    page = await page_of(free, f"/jobs/{job.id}")
    assert "Compare" not in page
    leased = (await free.store.lease({"plain": 1}, lease="b.2", now=NOW + 10**12)).jobs[0].job
    settled = a_settlement(leased, "dead", reason="exit 2")
    attempt = msgspec.structs.replace(settled.attempt, reason="exit 2")
    await free.store.settle(msgspec.structs.replace(settled, attempt=attempt))
    page = await page_of(free, f"/jobs/{job.id}")
    assert f'value="{job.id}/2"' in page
    found = rows(await page_of(free, f"/compare?id={job.id}/1&id={job.id}/2"))
    assert found["reason"] == ["exit 1: plain", "exit 2"]
    last = rows(await page_of(free, f"/compare?id={job.id}&id={job.id}/1"))
    assert last["reason"] == ["exit 2", "exit 1: plain"]


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ("id={delivery}", 400, "two are compared, not 1"),
        ("id={delivery}&id={job}", 400, "two of a kind"),
        ("id={job}/1&id={job}/9", 404, "no attempt 9"),
        ("id={delivery}&id=dlv_zzzzzzzz", 404, "no delivery"),
    ],
)
async def test_what_is_no_pair_is_refused(free: Rig, asked: str, status: int, words: str) -> None:
    answer = await free.get(f"/compare?{asked.format_map(free.ids)}")
    assert (answer.status, words in answer.body.decode()) == (status, True)


async def test_who_may_not_see_payloads_compares_nothing(rig: Rig) -> None:
    one = rig.ids["delivery"]
    for who, status in (("viewer", 200), ("hidden", 403)):
        await rig.log_in(who)
        assert (await rig.get(f"/compare?id={one}&id={one}")).status == status
        assert ("Compare two" in await page_of(rig, "/deliveries")) is (status == 200)


def test_lines_are_bounded_and_a_changed_line_stands_beside_the_old() -> None:
    assert list(line_pairs("a\nb", "a\nc")) == [LinePair("a", "a"), LinePair("b", "c")]
    assert len(list(line_pairs("x\n" * 5_000, "y\n" * 5_000))) == 600
    [only] = differences({"out": "1\n2"}, {"out": "1\n3"})
    assert [pair.same for pair in only.lines] == [True, False]
