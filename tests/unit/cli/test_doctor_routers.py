"""What `router doctor` says by what running routers tell: of refusals, of fetches."""

from typing import Any

import msgspec
import pytest

from router.cli import doctor_online as online
from router.model.fetched import Fetched
from router.model.settings import Endpoint
from router.operator.answers import ReloadState, ServerState, StoreFile
from router.providers import Provider, builtin
from tests.unit.providers.makers import a_definition

STATE = ServerState("1", "g", 1, ["shop"], StoreFile("/x", 1), {}, ReloadState())
SHOP = Endpoint("shop", "commerce", ("/wh_x",), ("shop",))
LATE: dict[str, Any] = {"at": 5, "endpoint": "shop", "reason": "late", "hint": None, "kept": None}


@pytest.mark.parametrize(
    ("refusals", "verdict", "words"),
    [((), "ok", "this router refused none since"), ((LATE,), "problem", "1 refused")],
)
def test_refusals_are_those_of_the_router_that_was_asked(
    refusals: tuple[dict[str, Any], ...], verdict: str, words: str
) -> None:
    server = online.ServerStatus(STATE, refusals)
    (check,) = online.of_refusals(server, SHOP, online.EndpointHistory(), keeping=True)
    assert check.verdict == verdict
    assert words in check.says


KEYS, ISSUER = "https://id.example/keys", "https://id.example/introspect"
ASKED = {"url": ISSUER, "client_id": "router", "client_secret": "ours"}
TOKENS = {"scheme": "jwt", "audience": "us", "jwks_url": KEYS}
BY_KEYS = Provider(a_definition(verify=TOKENS))
BY_ISSUER = Provider(a_definition(verify={"scheme": "introspection", "introspect": ASKED}))


@pytest.mark.parametrize(
    ("provider", "address", "found", "verdict", "words"),
    [
        (BY_KEYS, KEYS, Fetched("key set", 5), "ok", "answered"),
        (BY_KEYS, KEYS, Fetched("key set"), "problem", "not known yet"),
        (BY_KEYS, KEYS, Fetched("key set", None, 5, "HTTP 500"), "problem", "had: HTTP 500"),
        (BY_KEYS, KEYS, Fetched("key set", 5, 6, "HTTP 500"), "problem", "it is in force as"),
        (BY_ISSUER, ISSUER, Fetched("token issuer", 5, 6, "no answer"), "problem", "no answer"),
        (
            builtin()["aws-sns"],
            "https://sns.eu-west-1.amazonaws.com/a.pem",
            Fetched("certificate", None, 5, "HTTP 404"),
            "problem",
            "HTTP 404",
        ),
    ],
)
def test_what_proves_its_deliveries_and_is_fetched(
    provider: Provider, address: str, found: Fetched, verdict: str, words: str
) -> None:
    fetched = {address: found, "https://another.example/keys": Fetched("key set", None, 5, "x")}
    server = online.ServerStatus(msgspec.structs.replace(STATE, fetched=fetched))
    (check,) = online.of_keys(server, provider)
    assert (check.verdict, words in check.says, address in check.says) == (verdict, True, True)
    assert (check.fix is None) == (verdict == "ok")
