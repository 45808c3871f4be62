"""What `router doctor` says of refusals where several routers share a database."""

from typing import Any

import pytest

from router.cli import doctor_online as online
from router.model.settings import Endpoint
from router.operator.answers import ReloadState, ServerState, StoreFile, Unasked

STATE = ServerState("1", "g", 1, ["shop"], StoreFile("/x", 1), {}, ReloadState())
SHOP = Endpoint("shop", "commerce", ("/wh_x",), ("shop",))
LATE: dict[str, Any] = {"at": 5, "endpoint": "shop", "reason": "late", "hint": None, "kept": None}


@pytest.mark.parametrize(
    ("refusals", "unasked", "verdict", "words"),
    [
        ((), (), "ok", "none since"),
        ((), (Unasked("two", "it sleeps"),), "not checked", "two could not be asked: it sleeps"),
        ((LATE,), (Unasked("two", "it sleeps"),), "problem", "1 refused"),
    ],
)
def test_none_is_said_only_if_all_were_asked(
    refusals: tuple[dict[str, Any], ...], unasked: tuple[Unasked, ...], verdict: str, words: str
) -> None:
    server = online.ServerStatus(STATE, refusals, unasked=unasked)
    (check,) = online.of_refusals(server, SHOP, online.EndpointHistory(), keeping=True)
    assert check.verdict == verdict
    assert words in check.says
