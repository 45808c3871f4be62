"""docs/listen.md: its lines work, its options and keys are there."""

import re
from pathlib import Path

import pytest

from router.cli.listen import listen
from router.cli.listening.plain import PlainView
from router.cli.listening.screen import KEYS
from router.cli.listening.source import HEARTBEAT_S
from router.web import signal
from tests.acceptance.process import ROOT
from tests.docs.pages import reading, steps

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs" / "listen.md").read_text("utf-8")


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    said = {}
    with reading(tmp_path) as reader:
        reader.environ["XDG_STATE_HOME"] = str(tmp_path / "state")
        for kind, text in steps("listen.md"):
            if kind == "yaml":
                reader.write(text)
            else:
                said[text] = reader.do(text.replace(":9000", f":{reader.sink_port}"))
        seen = reader.sink_output()
    first, second = (out for line, out in said.items() if line.startswith("router listen"))
    assert "orders/paid" in first
    assert " 200 " in first
    assert " 200 " in second  # another filter has a place of its own
    assert seen.count("POST /hook") == 2
    assert "router-delivery: dlv_" in seen
    assert len(list((tmp_path / "saved").iterdir())) == 3


def test_every_option_named_is_there_and_the_other_way_round() -> None:
    options = {name for parameter in listen.params for name in parameter.opts}
    reported = set(re.findall(r"`(--[a-z-]+)", PAGE)) - {"--payload"}
    assert reported <= options
    usual = {"--file", "--json", "--dev", "--store", "--admin", "-f"}
    assert {name for name in options if name.startswith("-")} - usual <= reported


def test_every_key_named_is_there() -> None:
    for key in re.findall(r"^\| `(\w)` \|", PAGE, re.MULTILINE):
        assert f"{key} " in KEYS


def test_the_numbers_are_those_of_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert f"every {HEARTBEAT_S:.0f} s" in PAGE
    assert signal.HEARTBEAT_S == HEARTBEAT_S
    assert f"With {signal.LISTENERS_MAX} clients connected" in PAGE
    PlainView().gap(12, other=False)
    assert capsys.readouterr().err.strip() in PAGE
