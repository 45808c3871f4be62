"""Tokens that their issuer is asked about: what its answers mean."""

import json
from typing import Any

import pytest

from router.model.delivery import Refused, Verified
from router.providers import Provider
from router.providers.waiting import Introspection, Waiting
from tests.unit.providers.makers import NOW_MS, a_definition, a_request

NOW = NOW_MS // 1000
ISSUER = {"url": "https://id.example/introspect", "client_id": "router", "client_secret": "ours"}
RULE: dict[str, Any] = {"scheme": "introspection", "introspect": ISSUER}
SENDER = Provider(a_definition(verify=RULE))
STRICT = Provider(
    a_definition(verify=RULE | {"audience": "us", "issuer": "them", "claims": {"scope": "events"}})
)
GOOD = {"active": True, "aud": ["us"], "iss": "them", "scope": "events", "exp": NOW + 60}


def by(answer: Any, provider: Provider = SENDER, shown: str = "Bearer t0ken") -> str | None:
    """The verdict after this answer of the issuer: why it is refused, if so."""
    request = a_request([("Authorization", shown)])
    found = provider.judge(request, (), now_ms=NOW_MS)
    if isinstance(found, Waiting):
        assert found.ask == Introspection(*ISSUER.values(), b"t0ken")
        assert "t0ken" not in repr(found)
        raw = answer if isinstance(answer, bytes | None) else json.dumps(answer).encode()
        found = found.then(raw)
    assert isinstance(found, Verified | Refused)
    return f"{found.reason} {found.status}" if isinstance(found, Refused) else None


def without(claim: str) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != claim}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (GOOD, None),
        ({"active": False}, "inactive_token 401"),
        (without("active"), "inactive_token 401"),
        (GOOD | {"active": "true"}, "inactive_token 401"),
        (GOOD | {"active": 1}, "inactive_token 401"),
        (GOOD | {"exp": NOW}, "expired_token 401"),
        (GOOD | {"nbf": NOW + 1}, "expired_token 401"),
        (GOOD | {"aud": "others"}, "wrong_claims 401"),
        (without("aud"), "wrong_claims 401"),
        (GOOD | {"iss": "others"}, "wrong_claims 401"),
        (GOOD | {"scope": "mail"}, "wrong_claims 401"),
        (GOOD | {"exp": "soon"}, "not_answered 503"),
        (GOOD | {"exp": 10**400}, "not_answered 503"),
        (json.dumps(GOOD).replace("}", ', "x": 1e999}').encode(), "not_answered 503"),
        (None, "not_answered 503"),
        (b"", "not_answered 503"),
        (b"<html>", "not_answered 503"),
        (b"[" * 10_000, "not_answered 503"),
        ([], "not_answered 503"),
    ],
)
def test_what_an_answer_means(answer: Any, reason: str | None) -> None:
    assert by(answer, STRICT) == reason


def test_what_is_not_asked_for_may_be_absent() -> None:
    assert by({"active": True}) is None
    assert by({"active": True, "aud": "others"}) == "wrong_claims 401"


@pytest.mark.parametrize("token", ["t0ken", "Bearer ", "Bearer a b", "Bearer \xe9", "Basic x"])
def test_nobody_is_asked_about_what_is_no_token(token: str) -> None:
    assert by(GOOD, shown=token) == "malformed_signature 401"
    assert by(GOOD, shown="Bearer " + "x" * 9000) == "malformed_signature 401"
    assert by(GOOD, shown="") == "missing_signature 401"


def test_where_nobody_can_be_asked() -> None:
    found = SENDER.verify(a_request([("Authorization", "Bearer x")]), (), now_ms=NOW_MS)
    assert isinstance(found, Refused)
    assert (found.reason, found.status) == ("not_answered", 503)
    assert SENDER.waits
    assert SENDER.keyless
