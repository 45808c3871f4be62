"""`retention` of the server and of an endpoint."""

import pytest

from router.config import load
from router.model.settings import DAY_MS, KeepFor
from router.rules.ruleset import Ruleset

HOUR = 3_600_000


def ruleset(server: str, own: str) -> Ruleset:
    text = (
        f"version: 1\nserver: {{retention: {{{server}}}}}\nendpoints:\n"
        f"  shop: {{paths: /shop, provider: shopify, verify: none{own}}}\n"
    )
    loaded = load(text, path="rules.yaml", env={})
    assert loaded.ruleset is not None, loaded.diagnostics
    return loaded.ruleset


@pytest.mark.parametrize(
    ("server", "own", "kept"),
    [
        ("dead: 1d", "", None),
        ("dead: 1d", ", retention: {}", KeepFor(7 * DAY_MS, 7 * DAY_MS, DAY_MS)),
        ("dead: 1d", ", retention: {succeeded: 1h}", KeepFor(HOUR, 7 * DAY_MS, DAY_MS)),
        ("max_size: 1GiB", ", retention: {unmatched: 0s, dead: 0s}", KeepFor(7 * DAY_MS, 0, 0)),
    ],
)
def test_what_an_endpoint_leaves_out_is_as_for_all(
    server: str, own: str, kept: KeepFor | None
) -> None:
    assert ruleset(server, own).endpoints["shop"].retention == kept


def test_the_size_is_the_whole_store_s() -> None:
    text = (
        "version: 1\nendpoints:\n"
        "  shop: {paths: /s, provider: shopify, verify: none, retention: {max_size: 1GiB}}\n"
    )
    [fault] = load(text, path="rules.yaml", env={}).diagnostics
    assert (fault.code, "max_size" in fault.message) == ("unknown-key", True)
