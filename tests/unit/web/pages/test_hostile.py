"""What strangers write is text on every page, whatever it wants to be."""

from pathlib import Path

import pytest

from router.legible import visible_block
from tests.hostile_text import HOSTILE
from tests.unit.web.pages.rig import Nodes, Rig, a_rig, nodes

pytestmark = pytest.mark.long

HARMLESS = ("plain", "x" * 50, "x" * 100, "plain\ntext")
"""Longer answers and those of several lines are folded."""
SHARES = 6
"""The texts are tried in so many tests, each on some of them."""


def test_there_are_a_hundred_texts() -> None:
    assert len(set(HOSTILE)) >= 100


def skeleton(path: str, page: Nodes) -> list[tuple[str, tuple[str, ...]]]:
    """The elements with the names of their attributes: what text must never change."""
    found = [(tag, tuple(given)) for tag, given in page.elements]
    # A list of fields is as long as a query that the text is has parameters.
    return sorted(set(found)) if "/try" in path else found


async def looked_through(folder: Path, text: str) -> dict[str, Nodes]:
    """Every page of a router to which a stranger has written nothing but `text`."""
    folder.mkdir()
    async with a_rig(folder) as rig:
        await rig.fill(text)
        await rig.log_in("admin")
        return {path: nodes((await rig.get(path)).body) for path in shown(rig)}


def shown(rig: Rig) -> list[str]:
    tried = f"/deliveries/{rig.ids['delivery']}/try?text=contains(payload.text,+'x')&rule=yes"
    return [p for p in [*rig.paths(), tried] if not p.endswith("/body")]


@pytest.mark.parametrize("share", range(SHARES))
async def test_a_hostile_text_adds_no_node_to_any_page(tmp_path: Path, share: int) -> None:
    """
    The same elements and attributes as for some harmless text of that length or number of lines;
    the text itself stands there to be read.
    """
    plain = [await looked_through(tmp_path / f"plain{n}", t) for n, t in enumerate(HARMLESS)]
    for number, text in enumerate(HOSTILE[share::SHARES]):
        pages = await looked_through(tmp_path / f"{number}", text)
        for place, (path, page) in enumerate(pages.items()):
            same = [skeleton(path, list(others.values())[place]) for others in plain]
            assert skeleton(path, page) in same, (path, text)
            assert not page.odd, (path, text)
            assert_inert(page, path)
        assert_reported(pages, text)


def assert_inert(page: Nodes, path: str) -> None:
    for tag, given in page.elements:
        assert tag not in ("iframe", "object", "embed", "base", "style", "img"), path
        assert tag != "svg" or given.get("class") == "chart", path
        assert not [name for name in given if name.startswith("on")], path
        for name in ("href", "src", "action", "formaction"):
            value = given.get(name)
            assert value is None or (value[0] in "/#" and value[1:2] not in ("/", "\\")), path


def assert_reported(pages: dict[str, Nodes], text: str) -> None:
    """The fields are shown at all: the body, a header and an answer have the text in them."""
    reported = "".join(next(p for path, p in pages.items() if path.startswith("/jobs/")).text)
    first = visible_block(text).replace("\r", "\\x0d").split("\n")[0]
    assert first[:40] in reported, text
