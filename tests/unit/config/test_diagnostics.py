"""Carets stand under what they mean; JSON says the same."""

import json
import re
from pathlib import Path

from router.config import render_json, render_text
from router.config.codes import CODES
from router.errors import Diagnostic

ROOT = Path(__file__).parents[3]


def diagnostic(source: str, column: int, width: int = 1, hint: str | None = None) -> Diagnostic:
    return Diagnostic(
        code="some-code",
        message="a message",
        file="r.yaml",
        column=column,
        width=width,
        source=source,
        hint=hint,
    )


def test_the_caret_underlines() -> None:
    lines = render_text([diagnostic("  key: value", 8, 5, "say 'x'")]).splitlines()
    assert lines == [
        "r.yaml:1:8: error some-code: a message",
        "    1 |   key: value",
        "      |        ^^^^^ say 'x'",
    ]


def test_tabs_and_wide_characters_keep_the_caret_in_place() -> None:
    shown, marks = render_text([diagnostic("\t日本: x", 6)]).splitlines()[1:]
    assert shown == "    1 |  日本: x"
    assert marks.index("^") == shown.index("x") + 2


def test_a_long_line_is_cut_around_the_caret() -> None:
    source = "a" * 500 + "X" + "b" * 500
    shown, marks = render_text([diagnostic(source, 501)]).splitlines()[1:]
    assert len(shown) - len("    1 | ") <= 200
    assert shown[marks.index("^")] == "X"


def test_control_characters_are_not_printed() -> None:
    assert "\x1b" not in render_text([diagnostic("a\x1b[31m", 1)])


def test_without_a_source_line_the_hint_has_its_own() -> None:
    assert render_text([diagnostic("", 1, hint="do")]).splitlines()[1] == "    hint: do"


def test_json() -> None:
    (found,) = json.loads(render_json([diagnostic("abc", 2)]))
    assert (found["code"], found["line"], found["column"], found["severity"]) == (
        "some-code",
        1,
        2,
        "error",
    )


def test_every_code_in_use_is_in_the_table_and_the_other_way_round() -> None:
    packages = ("config", "yaml_source", "expressions", "typing")
    files = [file for package in packages for file in files_of(package)]
    text = "\n".join(file.read_text("utf-8") for file in files)
    used = set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', text))
    assert set(CODES) <= used
    reported = re.compile(
        r'(?:error|warning|error_within|warning_within|one_of|unknown|_fault|_stop)\(\s*"([a-z-]+)"'
    )
    assert set(reported.findall(text)) <= set(CODES)


def files_of(package: str) -> list[Path]:
    return [p for p in (ROOT / "router" / package).rglob("*.py") if p.name != "codes.py"]
