"""What nodes compare of their machines: fingerprints of secrets."""

from router.config import load
from router.store.values import Fingerprints
from router.wiring.fingerprints import FINGERPRINT_BYTES, fingerprints

RULES = """
version: 1
secrets: {new: {env: N}, old: {env: O}, token: {env: T}, s1: {env: S}, s2: {env: S}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: [new, old]}
rules:
  - id: r
    from: shop
    actions:
      - id: a1
        http: {url: "https://a.example/", auth: {bearer: token}, sign: {
          secrets: [s1, s2], header: x-signed}}
      - id: a2
        log: "{{ event }}"
"""
VALUES = {name: name.encode() * 9 for name in ("new", "old", "token", "s1", "s2")}
KEY = b"k" * 32


def marks(values: dict[str, bytes] = VALUES, key: bytes = KEY) -> Fingerprints:
    loaded = load(RULES, path="rules.yaml", env={})
    assert loaded.ruleset is not None, loaded.diagnostics
    return fingerprints(loaded.ruleset, values, key)


def test_a_fingerprint_tells_nothing_but_whether_a_value_is_the_same() -> None:
    found = marks(VALUES | {"token": VALUES["new"]})
    assert found.keys() == VALUES.keys()
    assert found["token"] == found["new"][:1]
    assert len(found["token"][0]) == 2 * FINGERPRINT_BYTES
    assert marks(key=b"l" * 32)["new"] != found["new"]


def test_a_secret_of_a_list_has_those_of_the_others_behind_its_own() -> None:
    found = marks()
    for one, other in (("new", "old"), ("s1", "s2")):
        assert found[one] == found[other][::-1]
        assert len(found[one]) == 2


def test_a_secret_without_a_value_is_left_out() -> None:
    found = marks({"old": VALUES["old"]})
    assert found == {"old": marks()["old"][:1]}
