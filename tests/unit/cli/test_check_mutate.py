"""`router check --mutate`: what no test notices, scores, and when it fails."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import EXAMPLE, Router

RULES = """\
version: 1
secrets: {shop: {env: A}}
endpoints: {shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}}
rules:
  - id: sent
    from: shop
    match: payload.test
    actions: {log: hi}
tests:
  - name: a test order
    send: {endpoint: shop, event: orders/paid, set: {test: true}}
    expect: {matched: [sent]}
"""
SECOND = """\
  - name: a real order
    send: {endpoint: shop, event: orders/paid, set: {test: false}}
    expect: {matched: []}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES, "utf-8")
    return path


def test_what_no_test_notices_is_shown_with_the_score(router: Router, path: Path) -> None:
    ran = router("check", path, "--mutate")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[1:] == [
        f"{path}:7:12: sent: no test notices when `payload.test` is left out",
        "sent  50.0 % (1 of 2 changes noticed)",
        "score: 50.0 % (1 of 2 changes noticed)",
    ]


def test_a_score_below_the_least_is_a_problem(router: Router, path: Path) -> None:
    assert router("check", path, "--min-score", "50").code == 0
    ran = router("check", path, "--min-score", "50.1")
    assert (ran.code, ran.err) == (1, "router: the score of 50.0 % is below 50.1 %\n")
    path.write_text(RULES + SECOND, "utf-8")
    assert router("check", path, "--min-score", "100").code == 0


def test_json_names_the_test_that_noticed(router: Router, path: Path) -> None:
    ran = router("check", path, "--mutate", "--json")
    place = {"file": str(path), "line": 7, "column": 12}
    assert json.loads(ran.out) == {
        "percent": 50.0,
        "noticed": 1,
        "of": 2,
        "not_tried": 0,
        "rules": [
            {
                "rule": "sent",
                "noticed": 1,
                "of": 2,
                "changes": [
                    {**place, "change": "`payload.test` is left out", "noticed_by": None},
                    {
                        **place,
                        "change": "`payload.test` becomes `!(payload.test)`",
                        "noticed_by": "a test order",
                    },
                ],
            }
        ],
    }


def test_a_wrong_file_is_only_checked(router: Router, path: Path) -> None:
    path.write_text(RULES.replace("from: shop", "from: shpo"), "utf-8")
    ran = router("check", path, "--mutate")
    assert ran.code == 1
    assert "unknown-endpoint" in ran.out
    assert "score" not in ran.out


def test_tests_that_fail_already_are_named(router: Router, path: Path) -> None:
    path.write_text(RULES.replace("matched: [sent]", "matched: []"), "utf-8")
    ran = router("check", path, "--mutate")
    assert ran.code == 2
    assert "1 test of" in ran.err
    assert "'a test order'; `router test` says why" in ran.err


def test_other_formats_are_refused(router: Router, path: Path) -> None:
    assert router("check", path, "--mutate", "--format", "sarif").code == 2


def test_a_place_in_an_included_file_is_there(router: Router, path: Path) -> None:
    head, _, rest = RULES.partition("rules:\n")
    path.write_text(f"{head}include: more.yaml\n", "utf-8")
    more = path.with_name("more.yaml")
    more.write_text(f"version: 1\nrules:\n{rest}", "utf-8")
    assert f"{more}:5:12: sent: no test notices" in router("check", path, "--mutate").out


def test_the_example_is_done_in_a_moment_and_its_gaps_are_named(router: Router) -> None:
    ran = router("check", EXAMPLE, "--mutate")
    assert ran.code == 0
    assert "hard-bounces        0.0 % (0 of 4 changes noticed)" in ran.out
