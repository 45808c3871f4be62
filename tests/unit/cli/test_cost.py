"""`check --cost`: what is looked up by what, and what is not."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import EXAMPLE, SMALL, Router

MORE = """\
  - {id: vip, from: shop, match: payload.email == 'a@b.test', actions: {log: x}}
  - id: heads
    from: code
    events: push
    match: starts_with(payload.ref, 'refs/h')
    actions: {log: x}
  - id: dear
    from: shop
    events: orders/*
    match: decimal(payload.total_price) > 5
    actions: {log: x}
"""


@pytest.fixture
def costly(rules: Path) -> Path:
    rules.write_text(SMALL + MORE, "utf-8")
    return rules


def test_the_rules_that_are_not_looked_up_come_first(router: Router, costly: Path) -> None:
    ran = router("check", costly, "--cost")
    assert (ran.code, ran.err) == (0, "")
    _, _unsigned, _, index, *lines = ran.out.splitlines()
    assert index == "index     2 of 6 rules are looked up by a field, 4 not"
    places = [
        lines.index(line) for line in lines if line.startswith(("not looked", "looked", "ev"))
    ]
    assert places == sorted(places)
    assert "      it has no condition: it wants all of them" in lines
    said = "> is an order, which is not looked up"
    assert f"      decimal(payload.total_price) > 5: {said}" in lines
    assert '      by payload.email = "a@b.test"' in lines
    assert '      by payload.ref = "refs/h"…' in lines


def test_samples_tell_what_an_event_costs(router: Router, costly: Path) -> None:
    [reported] = json.loads(router("check", costly, "--cost", "--json").out)
    assert (reported["file"], reported["diagnostics"]) == (str(costly), [])
    rules = {rule["rule"]: rule for rule in reported["cost"]["rules"]}
    assert rules["vip"]["key"]["equals"] == ["a@b.test"]
    assert rules["vip"]["asked"] == 0 < rules["vip"]["samples"]
    assert rules["dear"]["asked"] == rules["dear"]["samples"] > 1
    paid = next(e for e in reported["cost"]["events"] if e["event"] == "orders/paid")
    assert (paid["let_in"], paid["asked"], paid["most"]) == (3, 2, 3)


def test_a_file_that_is_wrong_has_no_cost(router: Router, costly: Path) -> None:
    costly.write_text(SMALL + "oops: 1\n", "utf-8")
    ran = router("check", costly, "--cost", "--json")
    assert (ran.code, json.loads(ran.out)[0]["cost"]) == (1, None)
    assert "index" not in router("check", costly, "--cost").out


def test_other_formats_have_no_place_for_it(router: Router) -> None:
    ran = router("check", EXAMPLE, "--cost", "--format", "sarif")
    assert ran.code == 2
    assert "--cost prints text or json" in ran.err
