"""docs/doctor.md: its lines run, its tables name every check and every cause."""

import re
from pathlib import Path

import pytest

from router.diagnosis.causes import ALTERED, CAUSES
from tests.acceptance.process import ROOT
from tests.docs.pages import reading, steps

pytestmark = pytest.mark.long

PAGE = "doctor.md"
TEXT = (ROOT / "docs" / PAGE).read_text("utf-8")


def codes() -> set[str]:
    """The codes of findings: those of the table, and those that the command names itself."""
    text = (ROOT / "router/cli/doctor_request.py").read_text("utf-8")
    named = set(re.findall(r'Finding\(\s*"([a-z_]+)"', text))
    return named | {cause.code for cause in (*CAUSES.values(), *ALTERED.values())}


def test_every_cause_is_in_the_table() -> None:
    named = codes()
    assert len(named) > 20
    table = TEXT[TEXT.index("| code | cause |") : TEXT.index("What parsing loses")]
    assert set(re.findall(r"`([a-z]+(?:_[a-z]+)*)`(?=[^|]*\| )", table)) >= named


def test_every_check_is_in_the_table() -> None:
    sources = ("doctor_offline", "doctor_online", "doctor")
    text = "".join((ROOT / f"router/cli/{name}.py").read_text("utf-8") for name in sources)
    named = set(re.findall(r'\b(?:ok|problem|unknown)\(\s*"([a-z_]+)"', text))
    assert len(named) > 12
    for name in named:
        assert f"`{name}`" in TEXT[: TEXT.index("**The address.**")], name


def test_the_lines_run(tmp_path: Path) -> None:
    [rules] = [text for kind, text in steps(PAGE) if kind == "yaml"]
    with reading(tmp_path) as reader:
        reader.environ["SHOP_WEBHOOK_SECRET"] = "x" * 32
        listen = reader.environ["ROUTER_LISTEN"]
        reader.write(rules.replace("127.0.0.1:8000", listen))
        reader.do("router serve")
        for kind, line in steps(PAGE):
            if kind == "sh" and "doctor" in line:
                # A loopback base_url is a problem, and the only one.
                said = reader.do_badly(line)
                assert "base_url" in said
                assert said.count("this machine only") == 1
            elif kind == "sh":
                reader.do(line)
        reported = reader.do_badly("router doctor shop --refused last")
        assert "body_line_breaks" in reported
