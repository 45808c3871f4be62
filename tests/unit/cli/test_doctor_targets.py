"""What `router doctor` says of the names that actions call, by what a resolver answers."""

import pytest

from router.cli.doctor_check import Check
from router.cli.doctor_offline import of_targets
from router.config import load

RULES = """\
version: 1
server: {egress: {allow: %s}}
secrets: {shop: {env: SHOP_SECRET}, chat: {env: CHAT_URL}}
endpoints: {shop: {id: shop-0123456789abcdef, provider: shopify, secrets: shop}}
targets:
  erp: {url: "http://erp:8080"}
  here: {url: "http://localhost:8080"}
  chat: {url: {secret: chat}}
rules:
  - id: a
    from: shop
    actions:
      - {http: {target: erp}}
      - {id: b, http: {target: chat}}
      - {id: c, http: {target: here}}
      - {id: d, http: "https://stock.example/orders/{{ payload.id }}"}
"""
REFUSED = "allow it with `server.egress.allow: [10.0.0.0/8]`"


async def _said(allow: str, answers: dict[str, list[str]] | None) -> list[tuple[str, ...]]:
    async def lookup(host: str) -> list[str]:
        assert answers is not None
        if host not in answers:
            raise OSError("no such name")
        return answers[host]

    ruleset = load(RULES % allow, path="rules.yaml", env={}).ruleset
    assert ruleset is not None
    found: list[Check] = await of_targets(ruleset, None if answers is None else lookup)
    return [(one.name, one.verdict, one.says, one.fix or "") for one in found]


@pytest.mark.parametrize(
    ("allow", "addresses", "verdict", "says", "fix"),
    [
        ("[]", ["10.1.2.3"], "problem", "erp is 10.1.2.3, a private address", REFUSED),
        ("[192.168.0.0/16]", ["10.1.2.3"], "problem", "erp is 10.1.2.3, a private", REFUSED),
        ("[10.0.0.0/8]", ["10.1.2.3"], "ok", "erp is 10.1.2.3", ""),
        ("[]", ["10.1.2.3", "8.8.8.8"], "ok", "erp is 8.8.8.8", ""),
        ("[]", ["169.254.169.254"], "problem", "erp is 169.254.169.254, a metadata", "call"),
    ],
)
async def test_a_name_is_judged_by_its_addresses(
    allow: str, addresses: list[str], verdict: str, says: str, fix: str
) -> None:
    first, other = await _said(allow, {"erp": addresses})
    assert (first[0], first[1]) == ("target erp", verdict)
    assert first[2].startswith(says)
    assert first[3].startswith(fix)
    assert other[:2] == ("target https://stock.example:443", "not checked")


@pytest.mark.parametrize(("allow", "names"), [("[]", ["target erp"]), ("[10.0.0.0/8]", [])])
async def test_offline_private_names_are_named_unless_something_is_allowed(
    allow: str, names: list[str]
) -> None:
    found = await _said(allow, None)
    assert [(name, verdict) for name, verdict, _, _ in found] == [(n, "not checked") for n in names]
