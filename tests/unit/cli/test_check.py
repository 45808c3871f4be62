"""`router check`."""

import json
from pathlib import Path

from tests.unit.cli.conftest import EXAMPLE, Router

WARNS = """\
version: 1
secrets: {shop: {env: SHOP_SECRET}}
endpoints: {shop: {id: short, provider: shopify, secrets: shop}}
rules: [{id: a, from: shop, actions: {log: hi}}]
"""


def test_the_example_is_right_and_counted_in_one_line(router: Router) -> None:
    ran = router("check", EXAMPLE)
    assert ran == (0, f"{EXAMPLE}: ok, 5 endpoints, 9 rules, 10 actions\n", "")


def test_one_of_each_is_singular(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(WARNS.replace("short", "0123456789abcdef"), "utf-8")
    assert router("check", path).out.endswith("ok, 1 endpoint, 1 rule, 1 action\n")


def test_the_example_is_right_in_json_too(router: Router) -> None:
    ran = router("check", EXAMPLE, "--json")
    assert ran.code == 0
    assert json.loads(ran.out) == []


def test_an_error_is_a_problem(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("version: 1\nrules: [{id: a, from: nowhere, actions: {log: hi}}]\n", "utf-8")
    text, as_json = router("check", path), router("check", path, "--json")
    assert (text.code, as_json.code) == (1, 1)
    assert f"{path}:2:" in text.out
    assert "ok," not in text.out
    assert json.loads(as_json.out)[0]["severity"] == "error"


def test_warnings_alone_are_no_problem_unless_strict(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(WARNS, "utf-8")
    ran = router("check", path)
    assert ran.code == 0
    assert "warning" in ran.out
    assert "ok, 1 endpoint" in ran.out
    assert router("check", path, "--strict").code == 1


def test_a_file_that_is_not_there_is_wrong_usage(router: Router, tmp_path: Path) -> None:
    ran = router("check", tmp_path / "none.yaml")
    assert ran.code == 2
    assert "there is no rules file" in ran.err


def test_two_different_files_are_refused(router: Router, rules: Path) -> None:
    assert router("check", rules, "-f", rules).code == 0
    ran = router("check", rules, "-f", EXAMPLE)
    assert ran.code == 2
    assert "name one" in ran.err


def test_a_bad_address_is_refused_with_the_right_shape(router: Router, rules: Path) -> None:
    ran = router("serve", rules, "--listen", "8000")
    assert ran.code == 2
    assert "HOST:PORT" in ran.err
