"""What shellcheck finds in the scripts of a rules file, where it is installed."""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from router.config.scripts import Script, ScriptFinding, ScriptLint

TIME_MAX_S = 10
_IGNORED = "SC1090,SC1091,SC1128,SC2154,SC3043"
"""
Files that a script sources, its own first line, variables that nothing sets (`check` knows which
the action gives), and `local`, which no standard has and every `sh` knows.
"""
_HEAD = "# shellcheck shell={}\nset {}\n"
"""What the interpreter's words say, such as -e."""
_HEAD_LINES = 2


class _Comment(msgspec.Struct, rename="camel"):
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: int
    message: str


class _Shellchecked(msgspec.Struct):
    comments: list[_Comment]


def shellcheck(environ: Mapping[str, str]) -> ScriptLint | None:
    """What runs it once for all scripts; None where there is none."""
    program = shutil.which("shellcheck", path=environ.get("PATH", ""))
    return None if program is None else partial(_findings, program)


def _findings(program: str, scripts: Sequence[Script]) -> list[list[ScriptFinding]]:
    """Its errors and warnings for each script; none where it fails, or takes too long."""
    found: list[list[ScriptFinding]] = [[] for _ in scripts]
    with tempfile.TemporaryDirectory(prefix="router-check-") as folder:
        files = [Path(folder) / f"{number}.sh" for number in range(len(scripts))]
        for file, script in zip(files, scripts, strict=True):
            shell, *options = script.interpreter
            file.write_text(_HEAD.format(shell, " ".join(options)) + script.text, "utf-8")
        for one in _comments([program, *_OPTIONS, *map(str, files)]):
            if one.line <= _HEAD_LINES:
                continue
            found[int(Path(one.file).stem)].append(
                ScriptFinding(
                    one.code,
                    one.message,
                    (one.line - _HEAD_LINES, one.column),
                    (one.end_line - _HEAD_LINES, one.end_column),
                )
            )
    return found


_OPTIONS = ("--norc", "--format=json1", "--severity=warning", f"--exclude={_IGNORED}")


def _comments(command: list[str]) -> list[_Comment]:
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and none of the arguments is a script
            command, capture_output=True, timeout=TIME_MAX_S, check=False, env={}
        )
        return msgspec.json.decode(done.stdout, type=_Shellchecked).comments
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        return []
