"""Functions that say whether a request is genuine: what their answers mean."""

from typing import Any

import pytest

from router.model.delivery import LiveSecret, Refused, Verified
from router.providers import Provider
from router.providers.waiting import FunctionProof, Waiting
from tests.unit.providers.makers import NOW_MS, a_definition, a_request

RULE: dict[str, Any] = {"scheme": "python", "function": "crm:verify"}
SENDER = Provider(a_definition(verify=RULE))
WITH_HEADER = Provider(a_definition(verify=RULE | {"header": "X-Check"}))
SECRETS = (LiveSecret("old", b"s3cret-one"), LiveSecret("empty", b""), LiveSecret("new", b"two"))


def asked(provider: Provider = SENDER, *headers: tuple[str, str]) -> Any:
    return provider.judge(a_request([*headers]), SECRETS, now_ms=NOW_MS)


def by(answer: object) -> str | None:
    """Why a request is refused after this answer, if so."""
    found = asked()
    assert isinstance(found, Waiting)
    verdict = found.then(answer)
    assert isinstance(verdict, Verified | Refused)
    return f"{verdict.reason} {verdict.status}" if isinstance(verdict, Refused) else None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (True, None),
        (False, "bad_signature 401"),
        (None, "proof_failed 503"),
        ("stopped after 0.25 s", "proof_failed 503"),
        ("", "proof_failed 503"),
        (1, "proof_failed 503"),
        (b"true", "proof_failed 503"),
    ],
)
def test_nothing_but_true_is_genuine(answer: object, reason: str | None) -> None:
    assert by(answer) == reason


def test_it_gets_the_request_and_every_live_secret() -> None:
    ask = asked(SENDER, ("Authorization", "Bearer x")).ask
    request = a_request([("Authorization", "Bearer x")])
    assert ask == FunctionProof(
        "crm:verify", request.body, request.headers, (SECRETS[0], SECRETS[2])
    )
    assert "s3cret" not in repr(ask)
    assert "Bearer" not in repr(ask)


def test_without_its_header_it_is_not_asked_and_what_proves_is_not_kept() -> None:
    found = asked(WITH_HEADER)
    assert isinstance(found, Refused)
    assert (found.reason, found.status) == ("missing_signature", 401)
    assert isinstance(asked(WITH_HEADER, ("X-Check", "")), Refused)
    assert isinstance(asked(WITH_HEADER, ("X-Check", "abc")), Waiting)
    kept = WITH_HEADER.hidden(a_request([("X-Check", "abc")]))
    assert b"abc" not in repr(kept.headers).encode()


def test_without_a_secret_it_is_not_asked() -> None:
    found = SENDER.judge(a_request([]), (LiveSecret("empty", b""),), now_ms=NOW_MS)
    assert isinstance(found, Refused)
    assert found.reason == "no_secret"


def test_where_no_function_is_run() -> None:
    found = SENDER.verify(a_request([]), SECRETS, now_ms=NOW_MS)
    assert isinstance(found, Refused)
    assert (found.reason, found.hint) == ("proof_failed", "crm:verify: it was not run")
    assert SENDER.waits
    assert not SENDER.keyless
    assert not SENDER.can_sign(b"s3cret-one")
