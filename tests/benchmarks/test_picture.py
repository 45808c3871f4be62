"""The picture of a run: well formed, nothing in it that runs or is fetched, every figure shown."""

from itertools import pairwise
from xml.etree import ElementTree

import msgspec
import pytest

from benchmarks.figures import EDGES_MS, Figures, Histogram, Row, classes
from benchmarks.picture import draw, place
from tests.benchmarks.values import a_run, a_whole_run

SVG = "{http://www.w3.org/2000/svg}"
KINDS = {"svg", "title", "style", "rect", "line", "text"}


def drawn(found: Figures) -> ElementTree.Element:
    return ElementTree.fromstring(draw(found))  # noqa: S314 - our own


def words(root: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in root.iter(f"{SVG}text")]


def boxes(root: ElementTree.Element, kind: str) -> list[dict[str, float]]:
    found = [one.attrib for one in root.iter(f"{SVG}rect") if one.get("class") == kind]
    return [{n: float(v) for n, v in one.items() if n != "class"} for one in found]


def test_it_holds_marks_and_nothing_else() -> None:
    assert {one.tag.removeprefix(SVG) for one in drawn(a_whole_run()).iter()} == KINDS


def test_it_runs_and_fetches_nothing() -> None:
    text = draw(a_whole_run()).replace("http://www.w3.org/2000/svg", "")
    assert not [word for word in ("script", "href", "url(", "http", "@import") if word in text]


def test_it_can_be_read_by_day_and_by_night() -> None:
    light, dark = draw(a_whole_run()).split("@media (prefers-color-scheme: dark)")
    used = {one.get("class") for one in drawn(a_whole_run()).iter() if one.get("class")}
    for kind in used - {"title"}:
        assert f".{kind} {{" in light
        assert f".{kind} {{" in dark


def test_every_ratio_has_its_bar_and_names_are_escaped() -> None:
    found = drawn(a_whole_run())
    assert {"ratio to echo", "ratio to <hook> & co", "0.200 ×", "2.50 ×"} <= set(words(found))
    assert "Node-RED" not in words(found)


def beside_others() -> Figures:
    hook = Row("<hook> & co", 2_400, "deliveries/s", ours=False)
    found = a_whole_run()
    return msgspec.structs.replace(found, rows={"load": (*found.rows["load"], hook)})


def test_behind_each_other_program_stands_our_ratio() -> None:
    told = words(drawn(beside_others()))
    assert "2,400/s, ours 2.50 ×" in told
    assert "6,000/s" in told


def test_rates_of_programs_are_drawn_to_one_scale() -> None:
    found = drawn(beside_others())
    (other,) = boxes(found, "peer")
    ours = boxes(found, "bar")[-1]
    assert other["width"] == pytest.approx(ours["width"] * 2_400 / 6_000, rel=0.01)


def test_without_others_no_rates_are_drawn() -> None:
    assert boxes(drawn(a_whole_run()), "peer") == []


def test_bars_are_as_long_as_their_ratios() -> None:
    found = drawn(a_whole_run())
    (short,), (long,) = boxes(found, "short"), boxes(found, "bar")
    assert long["width"] == pytest.approx(short["width"] * 2.5 / 0.2, rel=0.01)


def test_a_goal_is_a_line_across_its_bar() -> None:
    found = drawn(a_whole_run())
    goals = [one for one in found.iter(f"{SVG}line") if one.get("class") == "goal"]
    (short,) = boxes(found, "short")
    assert len(goals) == 2
    assert float(goals[0].attrib["x1"]) > short["x"] + short["width"]


def test_every_class_with_an_answer_has_its_box() -> None:
    found = boxes(drawn(a_whole_run()), "class")
    widths = {one["width"] for one in found}
    assert len(found) == 6
    assert max(widths) - min(widths) < 0.2


def test_a_box_is_as_high_as_its_class_is_full() -> None:
    full = Histogram("ack", 200, classes([1.0, 1.0, 1.0, 1.0, 30.0]))
    found = boxes(drawn(msgspec.structs.replace(a_run(), histograms=(full,))), "class")
    assert found[0]["height"] == pytest.approx(4 * found[1]["height"], rel=0.01)


def test_nothing_stands_outside() -> None:
    root = drawn(a_whole_run())
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for one in root.iter(f"{SVG}rect"):
        assert 0 <= float(one.attrib["x"]) <= width - float(one.attrib["width"])
        assert 0 <= float(one.attrib["y"]) <= height - float(one.attrib["height"])


def test_a_run_without_ratios_or_histograms_can_be_drawn() -> None:
    assert drawn(a_run()).tag == f"{SVG}svg"


def test_a_histogram_without_answers_can_be_drawn() -> None:
    empty = Histogram("none", 200, classes([]))
    assert boxes(drawn(msgspec.structs.replace(a_run(), histograms=(empty,))), "class") == []


def test_the_axis_is_logarithmic() -> None:
    assert place(10) - place(1) == pytest.approx(place(1_000) - place(100))


def test_the_same_figures_give_the_same_bytes() -> None:
    assert draw(a_whole_run()) == draw(a_whole_run())


def test_the_edges_grow_by_a_quarter() -> None:
    assert EDGES_MS[0] == 0.1
    assert EDGES_MS[-1] == 10_000
    for low, high in pairwise(EDGES_MS):
        assert high / low == pytest.approx(1.259, abs=0.01)
