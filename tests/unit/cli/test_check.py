"""`router check`."""

import json
import re
from pathlib import Path

import pytest

from tests.unit.cli.conftest import EXAMPLE, Router

WARNS = """\
version: 1
secrets: {shop: {env: SHOP_SECRET}}
endpoints: {shop: {id: short, provider: shopify, secrets: shop}}
rules: [{id: a, from: shop, actions: {log: hi}}]
"""


def test_the_example_is_right_and_counted_in_one_line(router: Router) -> None:
    ran = router("check", EXAMPLE)
    assert (ran.code, ran.err) == (0, "")
    counted, *notes = ran.out.splitlines()
    assert re.fullmatch(r"\S+: ok, \d+ endpoints, \d+ rules, \d+ actions", counted)
    unsigned = "endpoint probe: `verify: none`, accepts up to 64.0 KiB from anybody"
    assert notes == [f"{unsigned} within `allow_from`"]
    assert router("check", EXAMPLE, "--json")[:2] == (0, "[]\n")


def test_one_of_each_is_singular(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(WARNS.replace("short", "0123456789abcdef"), "utf-8")
    assert router("check", path).out.endswith("ok, 1 endpoint, 1 rule, 1 action\n")


def test_it_says_what_an_unsigned_endpoint_takes(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "open.yaml"
    path.write_text(
        "version: 1\nendpoints:\n  code: {paths: /code, provider: github, verify: none}\n"
        "  any: {paths: /any, provider: none, verify: none, body_max: 3KiB}\n"
        "  own: {paths: /own, provider: none, verify: none, allow_from: [10.0.0.0/8]}\n",
        "utf-8",
    )
    ran = router("check", path, "--strict")
    assert ran.code == 0
    assert ran.out.splitlines()[1:] == [
        "endpoint code: `verify: none`, accepts up to 25.0 MiB from anybody",
        "endpoint any: `verify: none`, accepts up to 3.0 KiB from anybody",
        "endpoint own: `verify: none`, accepts up to 1.0 MiB from anybody within `allow_from`",
    ]


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
    strict = router("check", path, "--strict")
    assert (strict.code, "ok," in strict.out) == (1, False)


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


def test_several_files_are_checked_one_by_one(router: Router, tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.yaml", tmp_path / "wrong.yaml"
    right.write_text(WARNS.replace("short", "0123456789abcdef"), "utf-8")
    wrong.write_text("version: 2\n", "utf-8")
    ran = router("check", right, wrong)
    assert ran.code == 1
    assert f"{wrong}:1:10: error unknown-version" in ran.out
    assert f"{right}: ok, 1 endpoint" in ran.out
    assert f"{wrong}: ok" not in ran.out
    assert router("check", right, right).code == 0


def test_what_is_said_can_be_read_about(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(WARNS, "utf-8")
    assert "router check --explain CODE" in router("check", path).out
    ran = router("check", "--explain", "short-endpoint-id")
    assert ran.code == 0
    assert ran.out.startswith("# short-endpoint-id\n")
    assert "```yaml" in ran.out


def test_an_unknown_code_is_wrong_usage(router: Router) -> None:
    ran = router("check", "--explain", "short-endpoint-di")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean 'short-endpoint-id'?" in ran.err


def test_workflow_commands(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(WARNS, "utf-8")
    ran = router("check", path, "--format", "github")
    place = f"file={path},line=3,col=24,endColumn=29,title=short-endpoint-id"
    said = "the endpoint id is shorter than 16 characters, so it can be guessed: "
    hint = "`router new endpoint` makes a good one"
    assert ran == (0, f"::warning {place}::{said}{hint}\n", "")


def test_formats_for_machines_hold_nothing_else(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(WARNS, "utf-8")
    for name in ("json", "sarif"):
        assert json.loads(router("check", path, "--format", name).out)
    assert router("check", path, "--format", "json").out == router("check", path, "--json").out


def test_templates_and_pragmas_are_looked_at(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    action = "{http: 'https://erp.example.net/{{ payload.cancel_reason }}'}"
    path.write_text(
        WARNS.replace("short", "0123456789abcdef").replace("{log: hi}", action), "utf-8"
    )
    assert "template-fails-on-sample" in router("check", path).out
    ignored = path.read_text("utf-8").rstrip() + "  # check: ignore template-fails-on-sample why\n"
    path.write_text(ignored, "utf-8")
    assert "template-fails-on-sample" not in router("check", path).out


def test_bytes_that_are_no_text_are_pointed_at(router: Router, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(b"version: 1\nvars: {a: \xff}\n")
    ran = router("check", path)
    assert ran.code == 1
    assert f"{path}:2:11: error unreadable-text" in ran.out


PARTS = """\
version: 1
include: more.yaml
server: {base_url: {env: BASE, default: "http://x.example"}, limits: {headers: 50}}
secrets: {shop: {env: SHOP_SECRET}, old: {env: OLD, until: 2999-01-01}, key: {file: 'my #key.pem'}}
vars: {main: {env: BRANCH, default: main}, data: {env: "1", other: [1.50, "007"]}}
targets: {erp: {url: "https://erp.example.net", headers: {X-Key: ghp_%s}, timeout: 5s}}
endpoints: {shop: {paths: /shop, provider: shopify, secrets: [shop, old, key]}}
""" % ("a1" * 18)
MORE = """\
version: 1
actions:
  tell: {log: "it is {{ with.text }}"}
  put: {http: {target: erp, json: {env: "5"}}, retry: short}
rules:
  - id: paid
    from: shop
    actions:
      - use: put
      - {id: again, use: put, after: put}
      - {use: tell, with: {text: "{{ payload.id }}"}}
tests: [{name: a, send: {endpoint: shop, event: orders/paid}, expect: {matched: [paid]}}]
"""
SHOWN = """\
server:
  base_url:
    env: BASE  # not set
    default: "http://x.example"
  limits:
    headers: 50
"""
THERE = """\
vars:
  main:
    env: BRANCH  # set
    default: main
  data:
    env: "1"
    other:
    - 1.50
    - "007"
actions:
  tell:
    log: "it is {{ with.text }}"
secrets:
  shop:
    env: SHOP_SECRET  # set
  old:
    env: OLD  # not set
    until: 2999-01-01
  key:
    file: 'my #key.pem'  # set
targets:
  erp:
    url: "https://erp.example.net"
    headers:
      X-Key: '****************************************'
    timeout: 5s
    concurrency: 16  # default
    breaker: on  # default
"""
RULES = """\
rules:
- id: paid
  from: shop
  actions:
  - id: put
    http:
      target: erp
      json:
        env: "5"
      method: POST  # default
    retry: short
  - id: again
    http:
      target: erp
      json:
        env: "5"
      method: POST  # default
    retry: short
    after: put
  - use: tell
    with:
      text: "{{ payload.id }}"
"""


def test_the_effective_file_has_all_files_and_no_value_of_any_secret(
    router: Router, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my #key.pem").write_text("s3cret in a file")
    (tmp_path / "more.yaml").write_text(MORE)
    file = tmp_path / "rules.yaml"
    file.write_text(PARTS)
    monkeypatch.setenv("SHOP_SECRET", "s3cret of the shop")
    monkeypatch.setenv("BRANCH", "s3cret-branch")
    ran = router("check", "--show", file)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("version: 1\n" + SHOWN)
    assert THERE in ran.out
    assert RULES in ran.out
    assert "include" not in ran.out
    assert "tests:" not in ran.out.replace("require_tests:", "")
    assert "s3cret" not in ran.out
    again = tmp_path / "again.yaml"
    again.write_text(ran.out)
    assert router("check", again).code == 0


def test_only_a_right_file_has_an_effective_one(router: Router, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\nrules: [{id: a, from: nowhere, actions: {log: hi}}]\n")
    assert router("check", "--show", file).out == router("check", file).out
    assert router("check", "--show", file).code == 1
    assert router("check", "--show", file, EXAMPLE).code == 2
