"""`redact` of an endpoint: what it comes to, and who may not read what is never stored."""

import pytest

from router.config import load, render_text
from router.model.settings import DAY_MS, Redact

FILE = """\
version: 1
endpoints:
  shop:
    id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54
    provider: shopify
    verify: none
    redact: {redact}
  other: {{paths: /other, provider: shopify, verify: none}}
define:
  mail: payload.customer.email
rules:
  - id: paid
    from: {sources}
    events: orders/paid
    match: {match}
    actions: {actions}
"""
USUAL = {
    "redact": "payload.email",
    "sources": "shop",
    "match": "payload.id != null",
    "actions": "{log: x}",
}
NEVER = "{fields: [payload.customer.email], when: stored}"


def said(**given: str) -> str:
    return render_text(load(FILE.format(**USUAL | given), path="r.yaml", env={}).diagnostics)


def compiled(redact: str) -> Redact:
    loaded = load(FILE.format(**USUAL | {"redact": redact}), path="r.yaml", env={})
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    found = loaded.ruleset.endpoints["shop"].redact
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("redact", "expected"),
    [
        ("payload.email", Redact(("payload.email",), (("payload", "email"),))),
        ("[payload]", Redact(("payload",), (("payload",),))),
        (
            """["payload.line_items[].name", 'headers."x-user"', query.who]""",
            Redact(
                ("payload.line_items[].name", 'headers."x-user"', "query.who"),
                (
                    ("payload", "line_items", None, "name"),
                    ("headers", "x-user"),
                    ("query", "who"),
                ),
            ),
        ),
        (
            "{fields: [payload.email], when: stored}",
            Redact(("payload.email",), (("payload", "email"),), "stored"),
        ),
        (
            "{fields: payload.email, when: 2d}",
            Redact(("payload.email",), (("payload", "email"),), "done", 2 * DAY_MS),
        ),
        (
            "{fields: payload.email, when: done}",
            Redact(("payload.email",), (("payload", "email"),)),
        ),
    ],
)
def test_what_is_redacted_and_when(redact: str, expected: Redact) -> None:
    assert compiled(redact) == expected


@pytest.mark.parametrize(
    ("redact", "words"),
    [
        ("'length(payload.email)'", "only fields, positions and [] may stand in it"),
        ("'payload.line_items[0:2]'", "only fields, positions and [] may stand in it"),
        ("headers", "names no single value of 'headers'"),
        ("""['headers."Content-Type"']""", "says how the body is read"),
        ("query.a.b", "names no single value of 'query'"),
        ("event", "'event' is not a name that 'redact' can read"),
        ("ev.mail", "a field of the event is written payload.ev"),
        ("payload.emial", "did you mean 'email'?"),
        ("[]", "'redact' names no field"),
        ("{when: done}", "'redact' needs the key 'fields'"),
        ("{fields: payload.email, when: soon}", "expected 'stored', 'done' or a duration"),
    ],
)
def test_what_is_no_field_is_refused_with_what_was_meant(redact: str, words: str) -> None:
    assert words in said(redact=redact)


@pytest.mark.parametrize(
    "actions",
    [
        "{log: '{{ payload.customer.email }}'}",
        "{log: '{{ def.mail }}'}",
        "{log: x, when: \"payload.customer.email == 'a@b.de'\"}",
        "{http: {url: 'https://x.example', text: '{{ default($.payload.customer.email, 1) }}'}}",
    ],
)
def test_no_action_may_read_what_is_never_stored(actions: str) -> None:
    assert "'payload.customer.email' of 'shop' is never stored" in said(
        redact=NEVER, actions=actions
    )
    assert "never stored" not in said(redact="payload.customer.email", actions=actions)
    assert "never stored" not in said(redact=NEVER, actions=actions, sources="other")


def test_conditions_and_other_fields_may_be_read() -> None:
    actions = "{log: '{{ payload.customer.id }}'}"
    assert said(redact=NEVER, actions=actions, match="def.mail != null") == ""
