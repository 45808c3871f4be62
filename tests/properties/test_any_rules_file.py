"""Whatever the text, loading gives a ruleset or diagnostics, and never raises."""

from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from router.config import load, render_json, render_text
from router.yaml_source import Report, Source, read

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = [p.read_text("utf-8") for p in sorted(GOLDEN.glob("*/*.yaml"))]
pieces = st.one_of(
    st.sampled_from(
        ["{", "}", "[", "]", ": ", "- ", "'", '"', "{{ ", " }}", "!", "&a ", "*a", "\n"]
    ),
    st.sampled_from(
        ["#", "|\n", ">\n", "\t", "\r\n", "\u2028", "\x85", "\x00", "\ud800", "all", "~"]
    ),
    st.text(max_size=4),
)


def check(text: str) -> None:
    result = load(text, path="r.yaml", env={})
    errors = [d for d in result.diagnostics if d.severity == "error"]
    assert (result.ruleset is None) == bool(errors)
    render_text(result.diagnostics)
    render_json(result.diagnostics)
    lines = Source(text, "r.yaml").starts
    assert all(1 <= d.line <= len(lines) and d.column >= 1 for d in result.diagnostics)


@given(st.sampled_from(FILES), st.lists(st.tuples(st.integers(0, 3000), pieces), max_size=4))
def test_right_and_wrong_files_with_something_put_in(text: str, put: list[tuple[int, str]]) -> None:
    for at, piece in put:
        text = text[:at] + piece + text[at:]
    check(text)


@given(st.sampled_from(FILES), st.integers(0, 3000), st.integers(1, 40))
def test_files_with_something_taken_out(text: str, at: int, length: int) -> None:
    check(text[:at] + text[at + length :])


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    check(text)


@given(st.sampled_from(FILES), st.lists(st.tuples(st.integers(0, 3000), pieces), max_size=3))
@example("a: {b: c}", [(8, "?")])
@pytest.mark.skipif(not yaml.__with_libyaml__, reason="there is no second parser here")
def test_both_parsers_refuse_the_same(text: str, put: list[tuple[int, str]]) -> None:
    for at, piece in put:
        text = text[:at] + piece + text[at:]
    if not text.isprintable() and any(c in text for c in "\t\x85\u2028\x00\ud800\ufeff"):
        return
    reports = [Report(Source(text, "r.yaml")) for _ in range(2)]
    read(reports[0], yaml.SafeLoader)
    read(reports[1], yaml.CSafeLoader)
    assert reports[0].failed == reports[1].failed
