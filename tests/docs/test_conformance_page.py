"""docs/dev/conformance.md: whole, and everything that it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "dev" / "conformance.md").read_text("utf-8")
INTERFACE = ROOT.parent / "shared" / "reference" / "intake-interface.md"
SECTIONS = (
    "What the service does",
    "Webhook subscription",
    "Order payload",
    "Product payload",
    "Customer payload",
    "Email event object",
    "Code-hosting payloads",
    "States and transitions",
    "The service's receiving address",
    "Commerce platform: management calls",
    "Email-delivery provider",
    "Code-hosting platform",
    "Deliveries to a consumer",
    "Authentication: commerce platform",
    "Authentication: email-delivery provider",
    "Authentication: code-hosting platform",
    "Commerce platform topics",
    "Email-delivery provider events",
    "Code-hosting events",
    "Operations and events",
    "Errors",
    "Limits",
    "Versioning",
)
CODE = re.compile(r"`([^`]+)`")


def sections() -> dict[str, list[list[str]]]:
    """The rows of each section's table: the line, the parts, the tests."""
    found = {}
    for block in TEXT.split("\n## ")[1:]:
        title, _, body = block.partition("\n")
        rows = [line for line in body.splitlines() if line.startswith("| ")][1:]
        found[title] = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    return found


ROWS = [(title, row) for title, rows in sections().items() for row in rows]


def test_every_section_of_the_interface_is_there() -> None:
    assert tuple(sections()) == SECTIONS
    assert all(sections().values())
    assert len(ROWS) > 90


@pytest.mark.parametrize(("title", "row"), ROWS, ids=lambda value: str(value)[:50])
def test_every_line_names_its_part_and_its_test(title: str, row: list[str]) -> None:
    said, parts, tests = row
    assert said
    named = CODE.findall(parts)
    assert named
    assert [part for part in named if not (ROOT / "router" / part).is_file()] == []
    shown = CODE.findall(tests)
    assert shown
    for test in shown:
        file, _, function = test.partition("::")
        assert function in functions(file), test


@cache
def functions(file: str) -> frozenset[str]:
    """The tests that a file really has."""
    path = ROOT / "tests" / file
    assert path.is_file(), file
    tree = ast.parse(path.read_text("utf-8"))
    made = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, made))


def test_a_test_that_is_not_there_is_noticed() -> None:
    assert "test_of_nothing" not in functions("docs/test_conformance_page.py")
    assert "test_a_test_that_is_not_there_is_noticed" in functions("docs/test_conformance_page.py")


# -- against the interface itself, where it lies beside the repository ----------------------------

beside = pytest.mark.skipif(not INTERFACE.exists(), reason=f"{INTERFACE} is not here")


@beside
def test_every_heading_of_the_interface_is_a_section() -> None:
    """Headings with text of their own; those of the same name say whose they are."""
    text = INTERFACE.read_text("utf-8")
    headings = re.findall(r"^##+ (.+)$", text, re.MULTILINE)
    above = {"Resources and their fields", "Endpoints", "Authentication", "Events"}
    plain = [re.sub(r" \((.+)\)$", "", h) for h in headings if h not in above]
    reported = " ".join(SECTIONS).lower()
    assert [h for h in plain if h.lower() not in reported] == []
    assert len(plain) == len(SECTIONS)


@beside
def test_every_name_of_the_interface_is_on_the_page() -> None:
    """Header names, paths, fields, topics, values: whatever stands in code there or in a table."""
    text = INTERFACE.read_text("utf-8")
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    names = {
        word for cell in cells for word in re.findall(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)+", cell)
    }
    names |= {
        word
        for code in CODE.findall(text)
        for word in re.findall(r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*", code)
    }
    names -= {"ACCESS_TOKEN", "generic", "string"}  # words of its notation
    page = TEXT.lower()
    assert sorted(name for name in names if name.lower() not in page) == []


@beside
def test_every_line_that_is_not_shown_has_a_choice() -> None:
    said = INTERFACE.read_text("utf-8").lower().count("not shown")
    assert TEXT.count("*Not shown*") >= said - 1  # OAuth's parameters are named twice
    assert not re.search(r"Provider names are replaced by neutral words", TEXT)
