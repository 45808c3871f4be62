"""`router check --fix`: a diff, a yes, and then the files."""

import json
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Router

WRONG = b"""\
version: 1
secrets: {shop: {env: SHOP_SECRET}}
endpoints: {shop: {id: 0123456789abcdef, provider: shopify, secrets: shop}}
rules:
  - {id: a, from: shpo, actions: {log: hi}}   # as it was
"""
RIGHT = WRONG.replace(b"shpo", b"shop")
DIFF = """\
@@ -5 +5 @@
-  - {id: a, from: shpo, actions: {log: hi}}   # as it was
+  - {id: a, from: shop, actions: {log: hi}}   # as it was
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_bytes(WRONG)
    return path


class Terminal:
    """A standard input that answers a question."""

    def __init__(self, answer: str) -> None:
        self._answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self._answer


def test_with_yes_the_file_is_written_and_checked_again(router: Router, path: Path) -> None:
    path.chmod(0o640)
    ran = router("check", path, "--fix", "--yes")
    assert ran.code == 0
    assert ran.out == f"--- {path}\n+++ {path}\n{DIFF}{path}: ok, 1 endpoint, 1 rule, 1 action\n"
    assert ran.err == f"1 finding fixed in {path}\n"
    assert path.read_bytes() == RIGHT
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(path.parent.iterdir()) == [path]


def test_a_second_time_there_is_nothing_to_ask(router: Router, path: Path) -> None:
    path.write_bytes(RIGHT)
    ran = router("check", path, "--fix")
    assert (ran.code, ran.out) == (0, f"{path}: ok, 1 endpoint, 1 rule, 1 action\n")


def test_dry_run_shows_the_diff_and_changes_nothing(router: Router, path: Path) -> None:
    ran = router("check", path, "--fix", "--dry-run")
    assert (ran.code, ran.out) == (0, f"--- {path}\n+++ {path}\n{DIFF}")
    assert path.read_bytes() == WRONG


def test_without_a_terminal_nothing_is_written_unasked(router: Router, path: Path) -> None:
    for more in ((), ("--json",)):
        ran = router("check", path, "--fix", *more)
        assert (ran.code, ran.err) == (2, "router: Not a terminal: pass --yes or --dry-run.\n")
        assert path.read_bytes() == WRONG


@pytest.mark.parametrize(("answer", "code", "after"), [("y\n", 0, RIGHT), ("n\n", 130, WRONG)])
def test_a_terminal_is_asked(
    router: Router,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
    after: bytes,
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    ran = router("check", path, "--fix")
    assert "Write these changes? [y/N]" in ran.out
    assert ran.code == code
    assert path.read_bytes() == after


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_breaks_and_mark_stay(router: Router, path: Path, mark: bytes) -> None:
    path.write_bytes(mark + WRONG.replace(b"\n", b"\r\n"))
    assert router("check", path, "--fix", "--yes").code == 0
    assert path.read_bytes() == mark + RIGHT.replace(b"\n", b"\r\n")


def test_an_included_file_is_written_where_it_is_also_behind_a_link(
    router: Router, path: Path
) -> None:
    head, _, rules = WRONG.partition(b"rules:")
    path.write_bytes(head + b"include: rules/*.yaml\n")
    (path.parent / "rules").mkdir()
    real = path.parent / "real.txt"
    real.write_bytes(b"version: 1\nrules:" + rules)
    link = path.parent / "rules" / "a.yaml"
    link.symlink_to(real)
    assert router("check", path, "--fix", "--yes").code == 0
    assert real.read_bytes() == b"version: 1\nrules:" + rules.replace(b"shpo", b"shop")
    assert link.is_symlink()


def test_what_does_not_help_is_said(router: Router, path: Path) -> None:
    bad = RIGHT.replace(b"from: shop", b"from: shop, match: payload.line_itmes == 'x'").replace(
        b"from: shop", b"from: shop, events: orders/paid"
    )
    path.write_bytes(bad)
    ran = router("check", path, "--fix", "--yes")
    assert ran.code == 1
    assert "left as it is: did you mean 'line_items'? — " in ran.err
    assert path.read_bytes() == bad


def test_json_has_each_answer_as_data(router: Router, path: Path) -> None:
    found = json.loads(router("check", path, "--json").out)
    assert found[0]["fix"] == {"line": 5, "column": 19, "end_column": 23, "text": "shop"}
    after = router("check", path, "--fix", "--yes", "--json")
    assert (after.code, json.loads(after.out)) == (0, [])
    assert path.read_bytes() == RIGHT


def test_yes_goes_with_fix(router: Router, path: Path) -> None:
    assert router("check", path, "--yes").code == 2
    assert path.read_bytes() == WRONG
