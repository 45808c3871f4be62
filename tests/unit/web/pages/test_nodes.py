"""The page of the routers that share a store."""

from msgspec.structs import replace

from router.model.share import TargetShare
from router.operator.node_rows import NodeList, node_rows
from router.store.values import NodeCard, NodeLoad, NodeSeen
from router.web.pages.assets import Assets
from router.web.pages.frame import Frame, KnownCaller, RouterStatus
from router.web.pages.rendering import Renderer
from tests.builders import GENERATION, NOW
from tests.unit.web.pages.rig import TOKENS, Rig, nodes

CARD = NodeCard("east", "1.2.3", GENERATION, NOW - 60_000, 40)
LOAD = NodeLoad({f"t{n:02}": TargetShare(n, 0.25 if n else None) for n in range(25)}, {"t01": 3})


async def page_of(rig: Rig, *given: NodeSeen) -> str:
    rig.sharing = NodeList(node_rows(given, {"1": LOAD}, NOW), GENERATION)
    await rig.log_in("viewer")
    return " ".join(" ".join(nodes((await rig.get("/nodes")).body).text).split())


async def test_a_node_stands_there_with_all_that_is_known_of_it(rig: Rig) -> None:
    text = await page_of(rig, NodeSeen("1", CARD, 5, NOW - 700))
    for word in (
        "east #1, version 1.2.3", "ready", GENERATION[:12], "in force",
        "700 ms ago", "+0.0 s", "3 running",
        "t01: 3 of 1, 0.25 a second", "t00: 0 of 0", "and 5 more targets",
    ):  # fmt: skip
        assert word in text, word
    assert "not ready" not in text
    assert "same rules" not in text
    assert b'<a href="/nodes" aria-current="page">' in (await rig.get("/nodes")).body


async def test_who_is_not_ready_says_why_and_who_is_gone_is_only_that(rig: Rig) -> None:
    off = NodeSeen("1", replace(CARD, unready="its clock is off", skew_ms=-2_500), 5, NOW)
    gone = NodeSeen(
        "2", replace(CARD, name="west", generation="0" * 64), 5, NOW - 90_000, gone=True
    )
    text = await page_of(rig, off, gone)
    for word in ("not ready its clock is off", "-2.5 s", "west #2", "gone", "1 m 30 s ago"):
        assert word in text, word
    assert "same rules" not in text, "who is gone routes by none"


async def test_nodes_of_different_rules_are_said_to_be(rig: Rig) -> None:
    other = NodeSeen("2", replace(CARD, generation="0" * 64), 5, NOW)
    assert "do not route by the same rules" in await page_of(
        rig, NodeSeen("1", CARD, 5, NOW), other
    )


async def test_a_store_that_one_router_has_alone_says_so(rig: Rig) -> None:
    assert "this router has it alone" in await page_of(rig)


def test_only_a_shared_store_leads_there() -> None:
    known, status = KnownCaller(TOKENS["viewer"].caller, "proof"), RouterStatus("1", GENERATION)
    for shared in (False, True):
        frame = Frame(Renderer(Assets()), lambda: status, shared=shared)
        page = frame.page("fault.html", known, title="t", code=404, detail="d").content
        assert (b'href="/nodes"' in page) == shared
