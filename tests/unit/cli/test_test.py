"""`router test`."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.cli.conftest import EXAMPLE, SMALL, Router

TESTS = """\
tests:
  - {name: a paid order, send: {endpoint: shop, event: orders/paid}, expect: {matched: paid}}
  - name: "a push \\e[31m"
    send: {endpoint: code, event: push}
    expect: {status: 200, calls: {pushes/log: {message: pushed}}}
"""


@pytest.fixture
def tested(tmp_path: Path) -> Path:
    path = tmp_path / "tested.yaml"
    path.write_text(SMALL + TESTS, "utf-8")
    return path


def test_the_example_passes(router: Router) -> None:
    ran = router("test", EXAMPLE)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith(" passed, 0 failed\n")


def test_a_line_a_test_and_what_came_of_the_failed_one(router: Router, tested: Path) -> None:
    ran = router("test", tested)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines() == [
        f"{tested}:16: ok   a paid order",
        f"{tested}:17: FAIL a push \\x1b[31m",
        '    calls.pushes/log (line 19): message: expected "pushed", got "push"',
        "1 passed, 1 failed",
    ]


@pytest.mark.parametrize("pattern", ["paid", "PAID order", "a p?id*"])
def test_a_pattern_chooses(router: Router, tested: Path, pattern: str) -> None:
    ran = router("test", tested, "--run", pattern)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "1 passed, 0 failed")


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [("a payd order", "did you mean 'a paid order'?"), ("zebra", "it has 2")],
)
def test_a_misspelt_pattern_does_not_look_like_success(
    router: Router, tested: Path, pattern: str, hint: str
) -> None:
    ran = router("test", tested, "--run", pattern)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"router: no test of {tested} fits {pattern!r}; {hint}\n"


def test_a_file_without_tests_is_no_success_either(router: Router, rules: Path) -> None:
    ran = router("test", rules)
    assert ran == (1, "", f"router: {rules} has no tests; write some under `tests:`\n")


def test_a_wrong_file_is_answered_as_by_check(router: Router, tested: Path) -> None:
    tested.write_text(tested.read_text("utf-8").replace("matched: paid", "matched: payd"), "utf-8")
    ran = router("test", tested)
    assert ran.code == 1
    assert "error unknown-rule" in ran.err


def test_json_tells_all(router: Router, tested: Path) -> None:
    passed, failed = json.loads(router("test", tested, "--json").out)
    assert (passed["name"], passed["line"], passed["passed"]) == ("a paid order", 16, True)
    assert (passed["status"], passed["matched"]) == ([200], ["paid"])
    assert failed["failures"] == [
        'calls.pushes/log (line 19): message: expected "pushed", got "push"'
    ]
    assert failed["calls"] == {"pushes/log": [{"kind": "log", "message": "push"}]}


def test_junit_names_file_and_line(router: Router, tested: Path, tmp_path: Path) -> None:
    assert router("test", tested, "--junit", tmp_path / "out.xml").code == 1
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()  # noqa: S314 - our own
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    passed, failed = suite
    assert (passed.get("file"), passed.get("line"), len(passed)) == (str(tested), "16", 0)
    assert failed.get("name") == "a push \ufffd[31m"
    assert "expected" in (failed[0].text or "")


def test_a_result_file_that_cannot_be_written_is_wrong_usage(
    router: Router, tested: Path, tmp_path: Path
) -> None:
    ran = router("test", tested, "--junit", tmp_path / "no" / "out.xml")
    assert ran.code == 2
    assert "cannot write" in ran.err


@pytest.mark.long
def test_nothing_of_the_server_is_imported() -> None:
    script = (
        "import sys; from router.cli.main import run;"
        f"run(['test', {str(EXAMPLE)!r}], {{}});"
        "heavy = ('litestar', 'structlog', 'router.web.protocol', 'httpx', 'prometheus_client');"
        "sys.exit(str([m for m in heavy if m in sys.modules]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ran.stderr == "[]\n"


@pytest.mark.parametrize(("pattern", "passed"), [("/^a pa/", 1), ("/PAID|push/", 2), ("/x", 0)])
def test_a_regular_expression_chooses(
    router: Router, tested: Path, pattern: str, passed: int
) -> None:
    ran = router("test", tested, "--run", pattern, "--json")
    assert len(json.loads(ran.out)) == passed


def test_a_wrong_regular_expression_is_wrong_usage(router: Router, tested: Path) -> None:
    ran = router("test", tested, "--run", "/a(/")
    assert (ran.code, ran.out) == (2, "")
    assert "--run /a(/: not a regular expression" in ran.err


def test_tests_beside_the_file_run_too(router: Router, tested: Path) -> None:
    beside = tested.with_name("tested.test.yaml")
    beside.write_text(
        "version: 1\ntests:\n  - name: beside\n    send: {endpoint: code, event: push}\n"
        "    expect: {matched: []}\n"
    )
    ran = router("test", tested, "--run", "beside")
    assert (ran.code, ran.out.splitlines()[0]) == (1, f"{beside}:3: FAIL beside")
    beside.write_text("version: 1\ntests: [{name: a}]\n")
    assert (
        f"{beside}:2:9: error missing-key"
        in router("check", tested).err + router("check", tested).out
    )


def test_coverage_tells_and_may_fail(router: Router, tested: Path) -> None:
    ran = router("test", tested, "--run", "paid", "--coverage")
    assert ran.code == 0
    assert ran.out.splitlines()[1:] == [
        "",
        "paid: matched",
        f"  {'log':<54}  success",
        "pushes: NEVER MATCHED",
        f"  {'log':<54}  NO SUCCESS",
        "bounces: NEVER MATCHED",
        f"  {'log':<54}  NO SUCCESS",
        "coverage: 33.3 % (2 of 6)",
        "1 passed, 0 failed",
    ]
    ran = router("test", tested, "--run", "paid", "--min-coverage", "50", "--json")
    assert (ran.code, ran.err) == (1, "router: the coverage of 33.3 % is below 50 %\n")
    found = json.loads(ran.out)
    assert (found["coverage"]["covered"], len(found["tests"])) == (2, 1)
    assert router("test", tested, "--run", "paid", "--min-coverage", "33").code == 0


REAL = """\
  - id: real
    from: shop
    events: orders/create
    actions: {shell: {script: 'echo "$N" >> ran', env: {N: "{{ payload.id }}"}}}
tests:
  - name: for real
    real: true
    send: {endpoint: shop, event: orders/create, set: {id: 7}}
    expect: {calls: {real/shell: {times: 1, env: {N: "7"}}}, dead: []}
"""


def test_actions_run_only_where_file_and_command_line_agree(router: Router, rules: Path) -> None:
    rules.write_text(SMALL + REAL, "utf-8")
    ran = router("test", rules)
    assert ran.code == 1
    assert ran.out.splitlines()[1] == (
        "    not run: it says 'real: true', so its shell and python actions would really run;"
        " allow it with --real"
    )
    assert not (rules.parent / "ran").exists()
    assert router("test", rules, "--real").code == 0
    assert (rules.parent / "ran").read_text() == "7\n"


def test_a_real_action_that_fails_is_retried_by_its_schedule(router: Router, rules: Path) -> None:
    text = REAL.replace(">> ran'", ">> ran; exit 75'").replace("times: 1", "times: 3")
    rules.write_text(SMALL + text.replace("dead: []", "dead: [real/shell]"), "utf-8")
    assert router("test", rules, "--real").code == 0
    assert (rules.parent / "ran").read_text() == "7\n7\n7\n"
