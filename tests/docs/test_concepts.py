"""Concept pages and the ways over from other programs: each file's tests say what the page says."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from router.model.retry import CLIENT_ERROR_DELAYS, STANDARD
from tests.acceptance.process import ROOT
from tests.docs.pages import block, blocks, lines, reading, steps
from tests.importing import imported
from tests.rehearsing import prove

DOCS = ROOT / "docs"
CONCEPTS = [str(page.relative_to(DOCS)) for page in sorted(DOCS.glob("concepts/*.md"))]
FROM = [page.name for page in sorted(DOCS.glob("from-*.md"))]
SMEE = "from-smee-and-ngrok.md"
WEBHOOK = "from-adnanh-webhook.md"


@pytest.mark.parametrize("page", [*CONCEPTS, *FROM])
def test_what_a_page_shows_passes(page: str) -> None:
    tried = [prove(text) for text in blocks(page, "yaml")]
    assert all(tried) or page == SMEE


@pytest.mark.parametrize("page", CONCEPTS)
def test_a_concept_has_one_picture(page: str) -> None:
    """That follows the reader's light or dark, and says in words what it shows."""
    [(says, picture)] = re.findall(r"!\[(.*?)\]\((.*?)\)", (DOCS / page).read_text("utf-8"))
    drawn = (DOCS / page).parent.joinpath(picture).read_text("utf-8")
    assert len(says.split()) > 10
    assert "prefers-color-scheme: dark" in drawn
    assert "<title>" in drawn


def test_the_picture_of_a_retry_shows_the_policy() -> None:
    drawn = (DOCS / "pictures" / "concept-retry.svg").read_text("utf-8")
    waits = re.findall(r">(\d+)([smh])<", drawn)
    unit = {"s": 1_000, "m": 60_000, "h": 3_600_000}
    assert tuple(int(number) * unit[name] for number, name in waits) == STANDARD.schedule_ms
    assert drawn.count("<circle") == len(waits) + 1 + CLIENT_ERROR_DELAYS + 1 + 1


def test_a_hooks_file_becomes_the_rules_that_the_page_shows() -> None:
    made = imported(block(WEBHOOK, "json"))
    assert made.text == block(WEBHOOK, "yaml")
    assert made.shown.startswith(block(WEBHOOK, "text"))
    (variable,) = made.secrets
    assert f"{{env: {variable}}}" in made.text


@pytest.mark.long
def test_the_way_from_webhook_goes_as_written(tmp_path: Path) -> None:
    (tmp_path / "hooks.json").write_text(block(WEBHOOK, "json"), "utf-8")
    place = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    *made, served = lines(WEBHOOK)
    for line in made:
        subprocess.run(line.split(), cwd=tmp_path, env=place, check=True)
    # What stands before the server is right; the port may be somebody else's here.
    started = served.replace("router serve", 'test "$DEPLOY_SECRET" = a-long-random-text')
    subprocess.run(["sh", "-c", started], cwd=tmp_path, env=place, check=True)


@pytest.mark.long
def test_the_way_from_smee_goes_as_written(tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        reader.environ["XDG_STATE_HOME"] = str(tmp_path / "state")
        reader.write(blocks(SMEE, "yaml")[0])
        for line in lines(SMEE):
            said = reader.do(line.replace(":9000", f":{reader.sink_port}"))
        assert reader.sink_output().count("POST /hook") == 2
    assert "pull_request" in said
    assert [kind for kind, _ in steps(SMEE)].count("yaml") == 1
