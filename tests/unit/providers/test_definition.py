"""Definitions: what is refused, and in which words."""

from typing import Any

import pytest

from router.errors import ConfigError
from router.providers.definition import duration_s, parse_definition, size_bytes
from tests.unit.providers.makers import a_definition

HMAC: dict[str, Any] = {"scheme": "hmac", "header": "X-Acme-Signature"}


def said(**keys: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        a_definition(**keys)
    return " | ".join(d.message for d in caught.value.diagnostics)


def test_a_small_definition_is_enough() -> None:
    assert a_definition().names == ("acme",)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"colour": "red"}, "unknown field `colour`"),
        ({"verify": HMAC | {"colour": "red"}}, "unknown field `colour`"),
        ({"event": {"header": "X-E", "colour": 1}}, "unknown field `colour`"),
        ({"names": []}, "at least one name"),
        ({"names": 5}, "Expected"),
        ({"methods": ["post"]}, "not a method"),
        ({"fields": {"Shop": {"header": "X-Shop"}}}, "not a name for a root"),
        ({"verify": {"scheme": "ed25519", "header": "X-S"}}, "Invalid enum value 'ed25519'"),
        ({"verify": {"scheme": "hmac"}}, "names the signature's header"),
        ({"verify": {"scheme": "none", "header": "X-S"}}, "names the signature's header"),
        ({"verify": {"scheme": "ecdsa", "header": "X-S"}}, "base64 over sha256"),
        ({"verify": HMAC | {"header": "X S"}}, "not a header name"),
        ({"verify": HMAC | {"message": "{payload}"}}, "knows {body}"),
        ({"verify": HMAC | {"message": "fixed"}}, "holds {body} once"),
        ({"verify": HMAC | {"message": "{body}{body}"}}, "holds {body} once"),
        ({"verify": HMAC | {"message": "{timestamp}{body}"}}, "go together"),
        ({"verify": HMAC | {"timestamp": "X-T"}}, "go together"),
        ({"verify": HMAC | {"message": "{id}.{body}"}}, "needs an `id` header"),
        ({"verify": HMAC | {"tolerance": "300s"}}, "needs a signed timestamp"),
        ({"verify": HMAC | {"prefix": "§"}}, "plain ASCII"),
        ({"event": {}}, "exactly one of header, field, event"),
        ({"event": {"header": "X-E", "field": "e"}}, "exactly one of header, field, event"),
        ({"event": {"event": True}}, "cannot come from itself"),
        ({"split": 0}, "1 to 1000"),
        ({"split": 1001}, "1 to 1000"),
        ({"split": 9, "id": {"header": "X-Id"}}, "each event needs its own"),
        ({"split": 9, "form_field": "p"}, "do not go together"),
        ({"body_max": "5MB"}, "KiB MiB GiB"),
        ({"ack_within": "soon"}, "ms s m h d"),
        ({"refuse_with": 500}, "Invalid enum value 500"),
    ],
)
def test_contradictions_are_named(keys: dict[str, Any], words: str) -> None:
    assert words in said(**keys)


def test_all_contradictions_are_named_at_once() -> None:
    text = said(methods=["post"], body_max="x", split=0)
    assert "not a method" in text
    assert "KiB" in text
    assert "1 to 1000" in text


def test_the_file_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_definition({}, file="acme.yaml")
    assert caught.value.diagnostics[0].file == "acme.yaml"
    assert caught.value.diagnostics[0].code == "provider_definition"


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("5s", 5), ("10m", 600), ("2h", 7200), ("1d", 86400)]
)
def test_durations(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "0s", "-1s", "1.5s", "5 s", "5S", "५s"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        duration_s(text)


@pytest.mark.parametrize(
    ("text", "size"), [("64KiB", 65536), ("25MiB", 26214400), ("1GiB", 1073741824)]
)
def test_sizes(text: str, size: int) -> None:
    assert size_bytes(text) == size
