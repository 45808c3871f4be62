"""
docs/api.md says what is: its routes are those of the application.

GOLDEN=write makes its list anew.
"""

from pathlib import Path

from router.config import load
from router.web.admin.openapi import listed
from tests.acceptance.process import ROOT
from tests.docs.test_operations_page import OPERATIONS
from tests.golden.made import made_of
from tests.unit.web.admin.rig import a_rig

PAGE = ROOT / "docs" / "api.md"
MARK = "<!-- routes -->\n"


async def test_the_list_is_that_of_the_application(tmp_path: Path) -> None:
    async with a_rig(tmp_path) as rig:
        made = listed(rig.routes)
    text, mark, _ = PAGE.read_text("utf-8").partition(MARK)
    assert made_of(PAGE, text + mark + made) == text + mark + made


def test_the_file_shown_is_right() -> None:
    shown = PAGE.read_text("utf-8").partition("```yaml\n")[2].partition("```")[0]
    found = load(f"version: 1\n{shown}", path="rules.yaml", env={})
    assert not [d for d in found.diagnostics if d.severity == "error"]


def test_operations_leads_here() -> None:
    assert "(api.md)" in OPERATIONS
