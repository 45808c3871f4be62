"""Lists that renew themselves at the signal."""

import pytest

from tests.unit.web.pages.rig import Rig, nodes


async def scripts(rig: Rig, path: str) -> bool:
    """Whether the page has the script and what it renews."""
    found = nodes((await rig.get(path)).body).elements
    has = any(tag == "script" and "live" in str(a.get("src")) for tag, a in found)
    assert not has or any(a.get("id") == "live" for _, a in found)
    return has


@pytest.mark.parametrize("path", ["/deliveries", "/jobs?state=dead", "/refused"])
async def test_the_newest_lines_are_live(free: Rig, path: str) -> None:
    assert await scripts(free, path)


@pytest.mark.parametrize("query", ["where=payload.id", "state=nonsense", "cursor=", "cursor=x"])
async def test_older_lines_and_costly_searches_are_not(free: Rig, query: str) -> None:
    assert await scripts(free, f"/deliveries?{query}") is (query == "cursor=")


async def test_the_signal_says_nothing_but_that_something_changed(rig: Rig) -> None:
    await rig.log_in("hidden")
    answer = await rig.get("/signal", accept="text/event-stream")
    assert (answer.status, answer.body) == (200, b"retry: 2000\n\n: listening\n\n")
