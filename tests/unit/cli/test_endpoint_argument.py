"""An endpoint is named as the argument, or as every list has it."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Router
from tests.unit.cli.held_router import held_router


@pytest.mark.parametrize("command", [("addresses",), ("doctor",), ("subscriptions", "list")])
def test_both_ways_say_the_same(command: tuple[str, ...], router: Router, rules: Path) -> None:
    ran = router(*command, "-f", rules, "shop")
    assert router(*command, "-f", rules, "--endpoint", "shop") == ran
    assert router(*command, "-f", rules, "shop", "--endpoint", "shop") == ran


@pytest.mark.parametrize("command", ["addresses", "doctor"])
def test_one_that_is_not_there_is_an_error(command: str, router: Router, rules: Path) -> None:
    ran = router(command, "-f", rules, "--endpoint", "shp")
    assert ran.code == 2
    assert "no endpoint 'shp'" in ran.err


def test_two_are_one_too_many(router: Router, rules: Path) -> None:
    ran = router("addresses", "-f", rules, "shop", "--endpoint", "code")
    assert (ran.code, ran.out) == (2, "")
    assert "two endpoints are named, shop and code; name one" in ran.err


def test_one_that_must_be_named_is_asked_for(router: Router, rules: Path) -> None:
    ran = router("recover", "-f", rules, "--dry-run")
    assert ran == (2, "", "router: name an ENDPOINT; see `router recover -h`\n")
    with held_router(rules):
        ran = router("recover", "-f", rules, "--endpoint", "shp", "--yes")
    assert "there is no endpoint 'shp'; did you mean 'shop'?" in ran.err
