"""`from: router`: a closed catalogue, closed payloads, a name that nobody else may have."""

import pytest

from router.config import load
from router.model.delivery import DeliveryEvent
from router.model.settings import OWN, OWN_ENDPOINT
from router.rules.live import LiveRuleset, SecretValues
from router.rules.ruleset import Ruleset

HEAD = """
version: 1
secrets: {shop: {env: SHOP_SECRET}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
rules:
"""


def said(rules: str, head: str = HEAD) -> list[tuple[str, str, str | None]]:
    found = load(head + rules, path="rules.yaml", env={}).diagnostics
    return [(d.code, d.message, d.hint) for d in found]


def a_ruleset(rules: str) -> Ruleset:
    loaded = load(HEAD + rules, path="rules.yaml", env={})
    assert loaded.ruleset is not None, loaded.diagnostics
    return loaded.ruleset


def rule(name: str, source: str, **keys: str) -> str:
    more = "".join(f", {key}: {value}" for key, value in keys.items())
    return f"  - {{id: {name}, from: {source}{more}, actions: {{log: x}}}}\n"


def test_it_needs_no_endpoint() -> None:
    text = "version: 1\nrules:\n" + rule("call", "router", events="job.dead")
    loaded = load(text, path="rules.yaml", env={})
    assert (loaded.diagnostics, loaded.ruleset is not None) == ((), True)


def test_the_ruleset_has_it_only_when_some_rule_wants_it() -> None:
    without = a_ruleset(rule("a", "all"))
    assert (OWN in without.endpoints, OWN in without.providers) == (False, False)
    assert LiveRuleset(without, SecretValues({}, {})).own is None
    ruleset = a_ruleset(rule("a", "all") + rule("b", "router"))
    assert ruleset.endpoints[OWN] == OWN_ENDPOINT
    assert list(ruleset.addressed) == ["shop"]


@pytest.mark.parametrize(
    ("source", "endpoints"),
    [
        ("all", {"shop"}),
        ("router", {"router"}),
        ("[shop, router]", {"shop", "router"}),
        ("[all, router]", {"shop", "router"}),
    ],
)
def test_all_are_those_that_senders_reach(source: str, endpoints: set[str]) -> None:
    ruleset = a_ruleset(rule("r", source) + rule("keeps", "router"))
    matcher = LiveRuleset(ruleset, SecretValues({}, {})).matcher
    event = DeliveryEvent("evt", 0, "job.dead", None, {})
    for endpoint in ("shop", "router"):
        found = {r.id for r in matcher.match(endpoint, event.name, None, {}).live}
        assert ("r" in found) is (endpoint in endpoints)
        assert ruleset.rules[0].takes(endpoint) is (endpoint in endpoints)


def test_no_address_leads_there() -> None:
    live = LiveRuleset(a_ruleset(rule("r", "router")), SecretValues({}, {}))
    assert live.own is not None
    assert [one.name for one in live.by_path.values()] == ["shop"]


@pytest.mark.parametrize("name", ["job.died", "nonsense", "orders/paid", "targets.*"])
def test_another_event_is_an_error(name: str) -> None:
    ((code, message, hint),) = said(rule("r", "router", events=name))
    assert (code, message) == ("unknown-own-event", f"'{name}' is no event of the router itself")
    assert hint is not None


@pytest.mark.parametrize("name", ["job.dead", "job.*", "endpoint.*", "'*'"])
def test_its_events_and_patterns_of_them_are_right(name: str) -> None:
    assert said(rule("r", "router", events=name)) == []


@pytest.mark.parametrize(
    ("match", "code"),
    [
        ("payload.rule == 'paid'", None),
        ("payload.last.status == 410", None),
        ("payload.kind == 'http'", None),
        ("payload.rulle == 'paid'", "unknown-name"),
        ("payload.last.code == 1", "unknown-name"),
        ("payload.attempts == 'many'", "always-false"),
    ],
)
def test_its_payloads_are_closed_and_typed(match: str, code: str | None) -> None:
    found = said(rule("r", "router", events="job.dead", match=f'"{match}"'))
    if code is None:
        assert found == []
    else:
        assert len(found) == 1


def test_an_endpoint_and_a_provider_cannot_be_called_so() -> None:
    for text, code in (
        (
            "endpoints: {router: {id: 8c1f0e7a5b6d4c3e9f2a, provider: shopify, secrets: s}}",
            "bad-name",
        ),
        (
            "endpoints: {a: {id: 8c1f0e7a5b6d4c3e9f2a, provider: router, secrets: s}}",
            "unknown-provider",
        ),
        (
            "providers: {router: {label: Mine, verify: {scheme: none}, event: {field: e}}}",
            "built-in-name",
        ),
    ):
        head = f"version: 1\nsecrets: {{s: {{env: S}}}}\n{text}\nrules:\n"
        assert code in [found for found, _, _ in said(rule("r", "router"), head)]


def test_a_test_sends_them_unsigned_and_only_if_a_rule_wants_any() -> None:
    sends = "tests:\n  - {name: t, send: {endpoint: router, event: EVENT}, expect: {matched: []}}\n"
    wanted = rule("r", "router", events="target.open")
    assert said(wanted + sends.replace("EVENT", "job.dead")) == []
    codes = [code for code, _, _ in said(wanted + sends.replace("EVENT", "job.ded"))]
    assert codes == ["unknown-own-event"]
    codes = [code for code, _, _ in said(rule("r", "all") + sends.replace("EVENT", "job.dead"))]
    assert codes == ["unknown-endpoint"]
    forged = sends.replace("EVENT}", "job.dead, tamper: signature}")
    assert [code for code, _, _ in said(wanted + forged)] == ["bad-step"]
