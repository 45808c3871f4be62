"""Rules files under pytest: each test an item of its own; nothing where nobody asked."""

import subprocess
import sys
from pathlib import Path

import cryptography.hazmat.primitives.asymmetric.ec  # noqa: F401 - see below
import pytest
import yaml  # noqa: F401 - see below

from tests.unit.cli.conftest import SMALL
from tests.unit.cli.test_test import REAL, TESTS

pytest_plugins = ["pytester"]
# pytester forgets what is imported while it runs. Native modules cannot be imported twice, so they
# are imported before.

INI = "[pytest]\naddopts = -p router.pytest_plugin\nrouter_rules = rules.yaml\n"


@pytest.fixture
def tested(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.path.joinpath("rules.yaml").write_text(SMALL + TESTS, "utf-8")
    pytester.makeini(INI)
    return pytester


def ran(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    quiet = ("-p", "no:asyncio", "-p", "no:xdist", "-p", "no:cacheprovider", "-W", "error")
    return pytester.runpytest_inprocess(*quiet, *args)


def test_each_test_is_an_item_with_file_and_line(tested: pytest.Pytester) -> None:
    result = ran(tested, "-v", "-rf")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*rules.yaml::a paid order PASSED*",
            "*rules.yaml::a push * FAILED*",
            'calls.pushes/log (line 19): message: expected "pushed", got "push"',
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_the_place_of_a_failed_test_is_its_line(tested: pytest.Pytester) -> None:
    items, _ = tested.inline_genitems("-p", "no:asyncio")
    found = [item.reportinfo() for item in items]
    assert [(Path(f).name, line, name.split()[1]) for f, line, name in found] == [
        ("rules.yaml", 15, "paid"),
        ("rules.yaml", 16, "push"),
    ]


def test_items_are_chosen_as_any_others(tested: pytest.Pytester) -> None:
    ran(tested, "-k", "paid").assert_outcomes(passed=1, deselected=1)
    ran(tested, "rules.yaml::a paid order").assert_outcomes(passed=1)


@pytest.mark.long
def test_cases_and_snapshots_are_tests_as_any_others(tested: pytest.Pytester) -> None:
    tested.path.joinpath("rules.test.yaml").write_text(
        "version: 1\ntests:\n  - name: beside\n    each: [{event: push}, {event: issues}]\n"
        "    send: {endpoint: code, event: '{{ each.event }}'}\n    expect: {matched: pushes}\n"
        "  - {name: kept, send: {endpoint: code, event: push}, expect: {snapshot: true}}\n"
    )
    ran(tested, "-k", "beside").assert_outcomes(passed=1, failed=1)
    ran(tested, "rules.yaml::beside [event: push]").assert_outcomes(passed=1)
    kept = ran(tested, "-k", "kept")
    kept.assert_outcomes(failed=1)
    kept.stdout.fnmatch_lines(["snapshot: there is none yet; *"])
    tested.path.joinpath("rules.snapshots.json").write_text(
        '{"kept": {"pushes/log": [{"message": "push"}]}}'
    )
    ran(tested, "-k", "kept").assert_outcomes(passed=1)


@pytest.mark.long
def test_files_beside_and_outside_of_the_test_paths_are_found(tested: pytest.Pytester) -> None:
    tested.path.joinpath("rules.test.yaml").write_text(
        "version: 1\ntests:\n  - name: beside\n    send: {endpoint: code, event: push}\n"
        "    expect: {matched: pushes}\n"
    )
    tested.mkdir("tests").joinpath("test_a.py").write_text("def test_a(): pass")
    tested.makeini(INI + "testpaths = tests\n")
    ran(tested).assert_outcomes(passed=3, failed=1)
    ran(tested, "tests").assert_outcomes(passed=1)


@pytest.mark.long
def test_a_wrong_rules_file_is_shown_as_by_check(tested: pytest.Pytester) -> None:
    tested.path.joinpath("rules.yaml").write_text(SMALL + "tests: [{name: a}]\n", "utf-8")
    result = ran(tested)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*rules.yaml:15:9: error missing-key: *", "*^*"])


def test_nothing_really_runs_without_leave(tested: pytest.Pytester) -> None:
    tested.path.joinpath("rules.yaml").write_text(SMALL + REAL, "utf-8")
    ran(tested).assert_outcomes(skipped=1)
    assert not tested.path.joinpath("ran").exists()
    ran(tested, "--router-real").assert_outcomes(passed=1)
    assert tested.path.joinpath("ran").read_text() == "7\n"


@pytest.mark.parametrize("ini", ["addopts = -p router.pytest_plugin", "router_rules = rules.yaml"])
def test_nobody_who_did_not_ask_gets_anything(tested: pytest.Pytester, ini: str) -> None:
    tested.makeini(f"[pytest]\n{ini}\n")
    tested.makepyfile("def test_a(): pass")
    result = ran(tested, "-W", "default")
    result.assert_outcomes(passed=1, warnings="router_rules" in ini)


@pytest.mark.long
def test_it_imports_little() -> None:
    script = (
        "import sys, pytest; before = set(sys.modules); import router.pytest_plugin;"
        "sys.exit(' '.join(sorted(set(sys.modules) - before)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert set(ran.stderr.split()) - {"router._version"} == {"router", "router.pytest_plugin"}
