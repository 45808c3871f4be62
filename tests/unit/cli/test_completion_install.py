"""`router completion install`: one command for every shell; a second time changes nothing."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from router.cli.completion_install import MARK, install
from router.errors import UsageError
from tests.unit.cli.conftest import Router

OWN = {"bash": ".bashrc", "zsh": ".zshrc"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's home with a blank in its name."""
    found = tmp_path / "my home"
    found.mkdir()
    monkeypatch.setenv("HOME", str(found))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    return found


@pytest.mark.parametrize("shell", OWN)
def test_a_line_is_added_once_and_the_rest_stays(shell: str, home: Path, router: Router) -> None:
    own = home / OWN[shell]
    own.write_bytes(b"alias x=y  # no line end, \xff")
    for said in ("added a line to", "it is read already by"):
        ran = router("completion", "install", shell)
        assert (ran.code, ran.err) == (0, "")
        assert f"{said} {own}" in ran.out
    first, added = own.read_bytes().splitlines()
    assert first == b"alias x=y  # no line end, \xff"
    kept = home / ".local/share/router" / f"completion.{shell}"
    assert added.decode().endswith(f". {shlex.quote(str(kept))}  {MARK}")
    assert kept.read_text("utf-8") == router("completion", shell).out
    assert f"rm {shlex.quote(str(kept))}" in ran.out


def test_fish_looks_for_it_itself(home: Path, router: Router) -> None:
    ran = router("completion", "install", "fish")
    kept = home / ".config/fish/completions/router.fish"
    assert ran.out.splitlines()[0] == f"wrote {kept}"
    assert "_ROUTER_COMPLETE=fish_complete" in kept.read_text("utf-8")
    assert [path for path in home.rglob("*") if path.is_file()] == [kept]


def test_the_folders_of_the_environment_count(tmp_path: Path) -> None:
    environ = {
        "HOME": str(tmp_path / "no"),
        "SHELL": "/usr/bin/zsh",
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "ZDOTDIR": str(tmp_path),
    }
    list(install(None, str.upper, environ))
    assert (tmp_path / "data/router/completion.zsh").read_text("utf-8") == "ZSH"
    assert (tmp_path / ".zshrc").exists()
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("named", ["/bin/csh", ""])
def test_a_shell_that_is_none_of_them_is_asked_for(named: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name one: `router completion install bash"):
        list(install(None, str, {"SHELL": named, "HOME": str(tmp_path)}))
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_is_named(home: Path, router: Router) -> None:
    (home / ".local").write_text("", "utf-8")
    ran = router("completion", "install", "bash")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert f"cannot write {home}/.local/share/router/completion.bash" in ran.err


@pytest.mark.long
def test_bash_completes_from_then_on(home: Path, router: Router) -> None:
    router("completion", "install", "bash")
    command = ["bash", "--rcfile", str(home / ".bashrc"), "-ic", "complete -p router"]
    environ = {"HOME": str(home), "PATH": os.environ["PATH"]}
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert ran.stdout == "complete -o nosort -F _router_completion router\n"
