"""shellcheck is asked once for all scripts, and never in the way."""

import stat
from pathlib import Path

import pytest

from router.config.scripts import Script, ScriptFinding
from router.wiring.rules import read_rules
from router.wiring.shellcheck import shellcheck

RULES = """\
version: 1
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, verify: none}
rules:
  - id: a
    from: shop
    actions:
      - id: one
        shell:
          script: |
            cd "$HOME"
            rm $(cat list)
      - {id: two, shell: {interpreter: [perl], script: "print 1"}}
      - {id: three, shell: {argv: [bash, -c, 'rm $(cat list)']}}
"""
SAYS = """\
#!/bin/sh
for file; do :; done
{ read -r first; read -r second; } < "${file%/*}/0.sh"
test "$first,$second" = "# shellcheck shell=sh,set -eu" || exit 1
echo '{"comments":[
  {"file":"'"${file%/*}"'/0.sh","line":4,"endLine":4,"column":4,"endColumn":15,"level":"warning",
   "code":2046,"message":"Quote this."},
  {"file":"'"${file%/*}"'/1.sh","line":3,"endLine":3,"column":4,"endColumn":15,"level":"warning",
   "code":2046,"message":"Quote this."},
  {"file":"'"${file%/*}"'/1.sh","line":2,"endLine":2,"column":1,"endColumn":4,"level":"warning",
   "code":2000,"message":"This line is none of the script."}]}'
exit 1
"""


def installed(folder: Path, text: str) -> dict[str, str]:
    """An environment in which the program is this script."""
    program = folder / "shellcheck"
    program.write_text(text)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_what_it_finds_is_said_at_its_place(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    environ = installed(tmp_path, SAYS)
    found = read_rules(file, environ=environ, thorough=True).diagnostics
    assert [(d.code, d.line, d.column, d.width, d.message) for d in found] == [
        ("doubtful-script", 12, 16, 11, "shellcheck SC2046: Quote this."),
        ("doubtful-script", 14, 50, 11, "shellcheck SC2046: Quote this."),
    ]
    assert found[0].hint == "https://www.shellcheck.net/wiki/SC2046"
    assert read_rules(file, environ=environ).diagnostics == ()


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 3\n", "#!/bin/sh\necho nothing\n", "no program"])
def test_where_it_fails_nothing_is_said(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    environ = installed(tmp_path, text)
    assert read_rules(file, environ=environ, thorough=True).diagnostics == ()


def test_where_it_is_not_installed_nobody_is_asked(tmp_path: Path) -> None:
    assert shellcheck({"PATH": str(tmp_path)}) is None
    assert shellcheck({}) is None


@pytest.mark.skipif(shellcheck({"PATH": "/usr/bin"}) is None, reason="shellcheck is not installed")
def test_the_real_one_finds_what_is_wrong() -> None:
    lint = shellcheck({"PATH": "/usr/bin"})
    assert lint is not None
    script = Script(("sh", "-eu"), "rm $(cat list)\n")
    assert lint([script, Script(("bash",), 'echo "$A"\n')]) == [
        [ScriptFinding(2046, "Quote this to prevent word splitting.", (1, 4), (1, 15))],
        [],
    ]
