"""Why what is published elsewhere could not be had."""

from typing import Any

import pytest

from router.diagnosis.diagnose import DiagnosisInput, diagnose
from router.model.delivery import REMOVED, InboundRequest, LiveSecret
from router.model.fetched import Fetched
from router.providers import Provider
from tests.unit.providers.makers import (
    NOW_MS,
    a_definition,
    a_delivery,
    a_request,
    builtin,
    invented,
)

URL = "https://id.example/keys"
BY_KEY_SET = Provider(a_definition(verify={"scheme": "jwt", "audience": "us", "jwks_url": URL}))
ISSUER = {"url": URL, "client_id": "router", "client_secret": "ours"}
BY_ISSUER = Provider(a_definition(verify={"scheme": "introspection", "introspect": ISSUER}))
TOPIC = builtin()["aws-sns"]
SHOWN = a_request([("Authorization", "Bearer t")])
KEPT = a_request([("Authorization", REMOVED)])
WHOLE = a_delivery(BY_KEY_SET)
FAILED = Fetched("key set", None, NOW_MS, "HTTP 500")
KNOWN = Fetched("key set", NOW_MS)


def found(
    provider: Provider, request: InboundRequest, fetched: Fetched | None, reason: str | None
) -> list[Any]:
    case = DiagnosisInput(
        "hook", provider, (), NOW_MS, reason=reason, fetched={URL: fetched} if fetched else {}
    )
    return [(one.code, one.sure, URL in one.says) for one in diagnose(request, case)]


@pytest.mark.parametrize("request_", [KEPT, WHOLE], ids=["kept", "whole"])
@pytest.mark.parametrize(("fetched", "sure"), [(FAILED, True), (KNOWN, False), (None, False)])
def test_a_key_set(request_: InboundRequest, fetched: Fetched | None, sure: bool) -> None:
    cause = found(BY_KEY_SET, request_, fetched, "unknown_key")
    assert cause == [("unknown_key", sure, True)]


@pytest.mark.parametrize("request_", [KEPT, SHOWN], ids=["kept", "whole"])
@pytest.mark.parametrize(("fetched", "sure"), [(FAILED, True), (KNOWN, False), (None, False)])
def test_an_issuer(request_: InboundRequest, fetched: Fetched | None, sure: bool) -> None:
    cause = found(BY_ISSUER, request_, fetched, "not_answered")
    assert cause == [("not_answered", sure, True)]


def test_the_failure_is_told_in_its_words() -> None:
    case = DiagnosisInput("hook", BY_KEY_SET, (), NOW_MS, fetched={URL: FAILED})
    (cause,) = diagnose(WHOLE, case)
    assert "HTTP 500" in cause.says


def test_what_the_router_had_the_key_for_is_no_such_case() -> None:
    assert found(BY_KEY_SET, KEPT, KNOWN, "wrong_claims") == [("hidden", False, False)]


def test_a_certificate_at_the_address_that_the_request_names() -> None:
    live = (LiveSecret("topic", invented(TOPIC).verify),)
    (cause,) = diagnose(a_delivery(TOPIC), DiagnosisInput("hook", TOPIC, live, NOW_MS))
    assert cause.code == "unknown_key"
    assert "the certificate at https://" in cause.says
