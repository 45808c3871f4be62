"""What a provider says of itself, and of secrets."""

import pytest

from tests.unit.providers.makers import a_provider, fixed_bytes

SHOP, MAIL, HUB = a_provider("shopify"), a_provider("sendgrid"), a_provider("github")


def test_limits_and_answers_are_those_of_the_interface() -> None:
    assert [p.refuse_with for p in (SHOP, MAIL, HUB)] == [401, 403, 401]
    mib = 1024**2
    assert [p.body_max for p in (SHOP, MAIL, HUB)] == [5 * mib, 5 * mib, 25 * mib]
    assert [p.ack_within_s for p in (SHOP, MAIL, HUB)] == [5.0, None, None]
    assert [p.splits for p in (SHOP, MAIL, HUB)] == [False, True, False]
    assert all(p.methods == {"POST"} and p.signed and p.has_ids for p in (SHOP, MAIL, HUB))


def test_roots_are_those_of_the_design() -> None:
    assert SHOP.root_fields == {"topic", "shop", "api_version"}
    assert MAIL.root_fields == frozenset()
    assert HUB.root_fields == {"branch", "tag", "repository"}


def test_assumed_events_are_marked() -> None:
    assert {e.name for e in MAIL.events if e.assumed} == {
        "dropped",
        "deferred",
        "unsubscribe",
        "spamreport",
        "group_unsubscribe",
        "group_resubscribe",
    }
    assert {e.name for e in HUB.events if e.assumed} == {"ping", "repository_dispatch"}
    assert {e.name for e in SHOP.events if e.assumed} == {
        "fulfillments/create",
        "fulfillments/update",
    }


def test_actions_shown_and_assumed() -> None:
    pull = next(e for e in HUB.events if e.name == "pull_request")
    assert {"opened", "closed", "synchronize", "labeled"} <= set(pull.actions)
    assert set(pull.assumed_actions) < set(pull.actions)
    assert "opened" not in pull.assumed_actions


@pytest.mark.parametrize(
    ("value", "ok", "words"),
    [
        (b"x" * 16, True, None),
        (b"x" * 15, True, "shorter than 16 bytes"),
        (b"x" * 20 + b"\n", True, "white space"),
        (b"", False, "empty"),
        (b" \n", False, "empty"),
        ("schlüssel".encode("latin-1") * 2, True, None),
    ],
)
def test_shared_secrets(value: bytes, ok: bool, words: str | None) -> None:
    found = SHOP.check_secret(value)
    assert found.ok is ok
    said = found.warning or found.error
    assert said is None if words is None else words in (said or "")


def test_keys() -> None:
    made = MAIL.invent_secret(fixed_bytes)
    assert MAIL.check_secret(made.verify).ok
    assert "mended" in (MAIL.check_secret(made.verify.replace(b"\n", b" ")).warning or "")
    assert "private" in (MAIL.check_secret(made.sign).error or "")
    assert not MAIL.check_secret(b"a shared secret").ok


def test_a_provider_is_shown_by_name() -> None:
    assert repr(HUB) == "Provider('code-host')"
