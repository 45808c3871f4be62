"""Hints smell known mistakes, and only after a refusal."""

import json
from typing import Any

import pytest

from router.model.delivery import InboundRequest, Refused
from router.providers import Provider
from router.providers.definition import spelled
from tests.unit.providers.makers import (
    PROVIDERS,
    SENDERS,
    SIGNING,
    a_definition,
    a_delivery,
    a_provider,
    a_request,
    changed,
    invented,
    verdict,
)

HUB = a_provider("github")
PRETTY = b'{\n  "ref": "refs/heads/main",\n  "n": 1\n}\n'
COMPACT = b'{"ref":"refs/heads/main","n":1}'


def hint(request: InboundRequest, provider: str = "github", *secrets: bytes) -> str:
    found = verdict(a_provider(provider), request, *secrets)
    assert isinstance(found, Refused)
    assert found.hint is not None
    return found.hint


def test_nothing_was_signed() -> None:
    assert hint(a_request([("X-GitHub-Event", "push")])).startswith("no signature sent")
    assert hint(a_request()).startswith("no signature sent")


def test_only_the_old_header_came() -> None:
    request = a_request([("X-GitHub-Event", "push"), ("X-Hub-Signature", "sha1=00")])
    assert "SHA-1" in hint(request)


@pytest.mark.parametrize("provider", SIGNING)
def test_an_empty_body_is_not_blamed_on_the_secret(provider: str) -> None:
    request = changed(a_delivery(a_provider(provider)), body=b"")
    assert hint(request, provider).startswith("empty body")


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("receiver", PROVIDERS)
def test_another_providers_headers_are_recognised(sender: str, receiver: str) -> None:
    provider = a_provider(sender)
    ours, theirs = (one.definition.verify.place for one in (a_provider(receiver), provider))
    if set(spelled(ours)) & set(spelled(theirs)):
        return  # the same sender, or one that signs as it does
    names = [line.partition(": ")[::2] for line in provider.definition.known_by]
    agent = tuple((name.encode(), value.encode()) for name, value in names if value)
    request = a_delivery(provider)
    said = hint(changed(request, headers=request.headers + agent), receiver)
    assert said.startswith("other provider's headers"), "`known_by` in its definition"
    assert any(f"`{name}`" in said for name in (sender, *provider.aliases))


@pytest.mark.parametrize("name", ["postmark", "alertmanager", "twilio"])
def test_a_sender_is_no_other_provider_than_itself(name: str) -> None:
    known_by = a_provider(name).definition.known_by
    sent = [tuple(line.split(": ")) for line in known_by if line.startswith("user-agent: ")]
    assert sent
    assert "provider's headers" not in hint(a_request(sent), name)


def test_the_sender_is_the_one_that_the_headers_fit_best() -> None:
    """Gitea sends names of GitHub's as well, for those who read only these."""
    sent = [("X-Gitea-Event", "push"), ("X-Gitea-Delivery", "1"), ("X-GitHub-Event", "push")]
    assert hint(a_request(sent), "shopify").endswith(
        "Gitea (provider `gitea` or `forgejo` or `gogs`)"
    )
    assert "GitHub" in hint(a_request([*sent[2:], ("X-GitHub-Delivery", "1")]), "shopify")


@pytest.mark.parametrize(
    ("arrived", "how"),
    [
        (PRETTY.rstrip(), "with a line break at its end"),
        (PRETTY.replace(b"\n", b"\r\n"), "with LF"),
    ],
)
def test_line_breaks_were_altered(arrived: bytes, how: str) -> None:
    request = changed(a_delivery(HUB, "push", body=PRETTY), body=arrived)
    assert hint(request).startswith("body altered")
    assert how in hint(request)


@pytest.mark.parametrize("signed", [PRETTY.rstrip(), PRETTY.replace(b"\n", b"\r\n")])
def test_line_breaks_were_added_or_lost(signed: bytes) -> None:
    request = changed(a_delivery(HUB, "push", body=signed), body=PRETTY)
    assert hint(request).startswith("body altered")


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_json_was_written_anew(name: str) -> None:
    provider, value = a_provider(name), json.loads(PRETTY)
    compact = json.dumps(value, separators=(",", ":")).encode()
    for signed in (compact, json.dumps(value).encode(), json.dumps(value, indent=2).encode()):
        signed_then = a_delivery(provider, body=signed)
        altered = changed(signed_then, body=json.dumps(value, indent=7).encode())
        assert "JSON" in hint(altered, name)


COMPOSED = [
    (
        {"scheme": "hmac", "query": "sig", "message": "{method}{body}"},
        PRETTY,
        "with LF",
    ),
    ({"scheme": "hmac", "query": "sig", "message": "{body_sha256}"}, PRETTY, "with LF"),
    ({"scheme": "hmac", "header": "X-S", "message": "{path}{body}"}, COMPACT, "as compact JSON"),
    (
        {"scheme": "hmac", "header": "X-S", "message": "{url}", "body_hash": {"query": "hash"}},
        PRETTY,
        "its SHA-256 is not the one",
    ),
]


@pytest.mark.parametrize(("rule", "signed", "how"), COMPOSED)
def test_the_body_was_altered_of_whatever_is_signed(
    rule: dict[str, Any], signed: bytes, how: str
) -> None:
    acme = Provider(a_definition(verify=rule))
    request = a_delivery(acme, "made", body=signed)
    altered = changed(request, body=PRETTY.replace(b"\n", b"\r\n"))
    found = verdict(acme, altered)
    assert isinstance(found, Refused)
    assert "body altered" in (found.hint or "")
    assert how in (found.hint or "")


def test_the_secret_has_white_space() -> None:
    key = invented(HUB).sign
    assert "white space" in hint(a_delivery(HUB, key=key), "github", key + b"\n")


def test_otherwise_the_secret_is_wrong() -> None:
    assert hint(a_delivery(HUB), "github", b"x" * 32).startswith("wrong secret")
    big = b'{"a":"' + b"x" * 70_000 + b'"}'
    altered = changed(a_delivery(HUB, "push", body=big), body=big + b"\n")
    assert hint(altered).startswith("wrong secret")


@pytest.mark.parametrize("depth", [900, 1_500, 30_000])
def test_deep_bodies_only_cost_the_hint(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    request = changed(a_delivery(HUB, "push", body=b"1"), body=deep)
    assert hint(request).startswith("wrong secret")


@pytest.mark.parametrize(
    ("provider", "header", "text", "words"),
    [
        ("github", "X-Hub-Signature-256", "ab" * 32, "begin with `sha256=`"),
        ("github", "X-Hub-Signature-256", "sha256=" + "AB" * 32, "lower case"),
        ("github", "X-Hub-Signature-256", "sha256=xyz", "not hex"),
        ("shopify", "X-Shopify-Hmac-Sha256", "ab" * 32, "hexadecimal where base64"),
        ("shopify", "X-Shopify-Hmac-Sha256", "!!", "not base64"),
    ],
)
def test_what_a_malformed_signature_is_instead(
    provider: str, header: str, text: str, words: str
) -> None:
    assert words in hint(a_request([(header, text)]), provider)


def test_hints_hold_no_secret() -> None:
    key = invented(HUB).sign
    for request in (a_delivery(HUB, key=b"other"), a_request()):
        assert key.decode() not in hint(request, "github", key)
