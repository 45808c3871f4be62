"""Shell completion: scripts that install, answers that fit, silence where nothing can be known."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from router.cli.command_table import COMMANDS
from router.cli.completion_values import _FILE_BYTES_MAX
from router.providers import builtin
from tests.unit.cli.conftest import EXAMPLE, ROOT, Router

pytestmark = pytest.mark.long

FIRST = "import sys; from router.cli.main import main; sys.argv[0] = 'router'; main()"


def completed(*words: str, rules: Path = EXAMPLE) -> list[str]:
    """What bash would offer after these words; the last one is being typed."""
    environ = {
        **os.environ,
        "ROUTER_RULES": str(rules),
        "_ROUTER_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["router", *words]),
        "COMP_CWORD": str(len(words)),
    }
    command = [sys.executable, "-c", FIRST]
    ran = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    return [line.partition(",")[2] for line in ran.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed_for_each_shell(shell: str, router: Router) -> None:
    ran = router("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert f"_ROUTER_COMPLETE={shell}_complete" in ran.out


def test_a_script_is_for_one_shell(router: Router) -> None:
    assert router("completion", "bash", "zsh").code == 2


def test_an_unknown_shell_is_wrong_usage(router: Router) -> None:
    assert router("completion", "csh").code == 2


def test_bash_accepts_its_script(router: Router) -> None:
    script = router("completion", "bash").out
    ran = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_commands_are_completed() -> None:
    assert completed("") == list(COMMANDS)
    assert completed("re") == ["replay", "revive", "resume", "recover"]
    assert completed("serve", "--de") == ["--dev"]


def test_endpoints_events_and_rules_are_completed() -> None:
    assert completed("send", "") == ["shop", "mail", "code", "privacy", "probe"]
    assert completed("send", "code", "workflow_run") == [
        *("workflow_run", "workflow_run.completed"),
        *("workflow_run.requested", "workflow_run.in_progress"),
    ]
    assert completed("send", "mail", "b") == ["bounce"]
    assert completed("deliveries", "--rule", "pa") == ["paid-orders-to-erp"]
    assert completed("replay", "--endpoint", "p") == ["privacy", "probe"]
    assert "orders/paid" in completed("dead", "--event", "or")
    assert completed("providers", "s") == [name for name in builtin() if name[0] == "s"]


def test_the_file_named_on_the_line_counts(rules: Path) -> None:
    assert completed("send", "-f", str(rules), "") == ["shop", "code", "mail", "open"]


def test_without_a_usable_file_nothing_is_offered(tmp_path: Path) -> None:
    broken, large = tmp_path / "broken.yaml", tmp_path / "large.yaml"
    broken.write_text("rules: [", "utf-8")
    large.write_text("#" * (_FILE_BYTES_MAX + 1), "utf-8")
    for path in (tmp_path / "none.yaml", tmp_path, broken, large):
        assert completed("send", "", rules=path) == []
        assert completed("send", "shop", "", rules=path) == []
        assert completed("dead", "--rule", "", rules=path) == []
