"""The page of a job while it runs, in a browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.senders import code
from tests.browser.conftest import Open
from tests.browser.rig import Served, Watched, served

# A test that is broken off leaves its commands behind: they wait for a minute at most.
RULES = """
rules:
  - id: slow
    from: code
    actions:
      shell:
        script: |
          echo "first, $KEY"
          await() {{ for _ in $(seq 1200); do [ -e "$1" ] && return; sleep 0.05; done; exit 1; }}
          await "{folder}/go-$N"
          echo "<b id=bold>second</b>"
          echo trouble >&2
          await "{folder}/end-$N"
          echo last
        env: {{KEY: "{{{{ secret.code }}}}", N: "{{{{ payload.n }}}}"}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands look for a sign to go on."""
    return tmp_path_factory.mktemp("signs")


@pytest.fixture(scope="module")
def router(browser: Any, folder: Path) -> Iterator[Served]:
    del browser  # without one this is skipped, and no router needed
    with served(folder / "router", RULES.format(folder=folder)) as running:
        yield running


def begin(router: Served, number: int) -> str:
    """Start a command that waits for its signs; its job."""
    delivery = router.send(code(), n=number)
    path = f"/api/jobs?id={delivery}&state=running"
    router.process.until(lambda: bool(router.api(path)["jobs"]), "the job")
    return str(router.api(path)["jobs"][0]["id"])


def test_output_comes_while_one_looks_and_the_end_is_seen(
    router: Served, folder: Path, opened: Open
) -> None:
    job, page = begin(router, 1), opened()
    page.open(f"/jobs/{job}")
    stdout, stderr = page.page.locator("#output-stdout"), page.page.locator("#output-stderr")
    assert stdout.inner_text().startswith("first, ****")
    page.page.evaluate("document.getElementById('output-stdout').mark = 1")
    (folder / "go-1").touch()
    page.page.wait_for_selector("#output-stdout:has-text('second')")
    assert "<b id=bold>second</b>" in stdout.inner_text()
    assert page.page.locator("#bold").count() == 0
    assert page.page.evaluate("document.getElementById('output-stdout').mark") == 1
    page.page.wait_for_selector("#output-stderr:has-text('trouble')")
    assert stderr.inner_text() == "trouble\n"
    (folder / "end-1").touch()
    page.page.wait_for_selector("#job-state .s-succeeded")
    page.page.wait_for_selector("#job-said:has-text('ended')")
    assert page.page.locator("#job-output pre").count() == 0
    assert "last" in str(page.page.text_content("#job-attempts"))
    assert page.page.locator("text=Replay this job").is_visible()


def test_who_may_not_see_payloads_sees_how_it_stands(
    router: Served, folder: Path, opened: Open
) -> None:
    job, page = begin(router, 2), opened(log_in=False)
    page.log_in("eve-token-eve-token-eve")
    page.open(f"/jobs/{job}")
    assert page.page.locator("#job-state .s-running").is_visible()
    assert page.page.locator("#job-output pre").count() == 0
    (folder / "go-2").touch()
    (folder / "end-2").touch()
    page.page.wait_for_selector("#job-state .s-succeeded")
    assert "last" not in str(page.page.text_content("#job-attempts"))


def test_an_ended_job_is_not_asked_for_again(router: Served, folder: Path, page: Watched) -> None:
    job = begin(router, 3)
    (folder / "go-3").touch()
    (folder / "end-3").touch()
    router.until_quiet()
    asked: list[str] = []
    page.open(f"/jobs/{job}")
    page.page.on("request", lambda request: asked.append(request.url))
    page.page.wait_for_timeout(1_500)
    assert [url for url in asked if "/jobs/" in url] == []
