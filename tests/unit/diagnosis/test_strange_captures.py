"""Captures of senders that nobody knows: of twenty, eighteen are found, and none is made up."""

import json
from pathlib import Path
from typing import Any

import pytest

from router.cli.captured_request import request_of
from router.diagnosis.proposal import guessed, proposed
from router.diagnosis.scheme_finder import fits
from router.model.delivery import LiveSecret, Verified
from router.providers import Provider
from tests.unit.providers.makers import a_definition, changed

FILE = Path(__file__).with_name("strange_captures.json")
CAPTURES: list[dict[str, Any]] = json.loads(FILE.read_bytes())
each_capture = pytest.mark.parametrize("capture", CAPTURES, ids=lambda one: one["name"])


def test_most_of_them_are_within_reach() -> None:
    assert len(CAPTURES) == 20
    assert sum(one["verify"] is not None for one in CAPTURES) >= 16


@each_capture
def test_the_scheme_of_a_strange_sender_is_found(capture: dict[str, Any]) -> None:
    request, secret = request_of(capture["request"], FILE), capture["secret"].encode()
    found = fits(request, secret)
    assert [one.verify for one in found[:1]] == [v for v in [capture["verify"]] if v]
    assert "".join(one.public_url for one in found[:1]) == capture.get("public_url", "")


@each_capture
def test_what_is_proposed_reads_the_request(capture: dict[str, Any]) -> None:
    request = request_of(capture["request"], FILE)
    for fit in fits(request, capture["secret"].encode())[:1]:
        definition = proposed(request, fit)
        definition.pop("events", None)  # as users write them
        provider = Provider(a_definition(**definition))
        told = changed(request, public_url=fit.public_url)
        secrets = [LiveSecret("given", capture["secret"].encode())]
        now_ms, any_age = 1_705_312_200_000, 10**9
        found = provider.verify(told, secrets, now_ms=now_ms, tolerance_s=any_age)
        assert isinstance(found, Verified)
        assert [event.name for event in provider.read(request).events] != []


@each_capture
def test_a_guess_names_the_place(capture: dict[str, Any]) -> None:
    """Without the secret the place of most signatures is known by its name."""
    request = request_of(capture["request"], FILE)
    guess = guessed(request)
    assert guess["scheme"] in ("hmac", "ed25519", "rsa", "jwt", "token", "none")
    if guess["scheme"] != "none" and capture["verify"] is not None:
        kept = {key: guess.get(key) for key in ("header", "query", "field")}
        assert kept == {key: capture["verify"].get(key) for key in kept}
