"""The rules of the whole simulation, in two generations, as their files would say them."""

from functools import cache

from router import config
from router.rules.live import LiveRuleset, SecretValues

KEY = b"a-made-up-secret-of-some-length"
HEAD = """
version: 1
secrets: {shop: {env: SHOP}}
endpoints:
  shop: {id: shop0123456789abcdef, provider: shopify, secrets: shop, on_redelivery: revive}
  quiet: {id: quiet0123456789abcdef, provider: shopify, secrets: shop}
retries:
  quick: {schedule: [1s, 5s, 30s], jitter: 0.2}
targets:
  erp: {url: "http://127.0.0.1:9/erp", concurrency: 3}
"""
RULE = """
  - id: {rule}
    from: [shop, quiet]
    match: payload.wants_rule == '{rule}'
    retry: quick
"""
ONE = """
    actions:
      - {id: a, http: {target: erp, path: "/a/{{ payload.path }}"}}
"""
CHAIN = """
    actions:
      - id: b
        after: a
        when: payload.wanted
        http: {target: chat, path: /b, json: {by: "{{ results.a.json.by }}"}}
      - {id: a, http: {target: erp, path: "/a/{{ payload.path }}"}}
      - {id: c, after: {a: dead}, log: "{{ payload.number }}"}
      - {id: d, after: [a, b], shell: {argv: ["true"]}, retry: quick}
"""
LOUD = """
      - {id: note, log: "{{ payload.number }}"}
"""
CAREFUL = """
    actions: {shell: {argv: ["true"]}, on_interrupt: dead}
"""


def _group(limit: int, on_busy: str) -> str:
    return f"    concurrency: {{group: payload.key, limit: {limit}, on_busy: {on_busy}}}\n"


def _text(*, calm: bool) -> str:
    chat = "rate: 4/s, concurrency: 2" if calm else "rate: 2/s, concurrency: 1"
    pause = "" if calm else "    mode: paused\n"
    rules = [
        RULE.replace("{rule}", "plain") + pause + ONE + LOUD,
        RULE.replace("{rule}", "chain") + CHAIN,
        RULE.replace("{rule}", "strict") + _group(1, "queue") + CHAIN,
        RULE.replace("{rule}", "wide") + _group(2 if calm else 1, "queue") + ONE,
        RULE.replace("{rule}", "latest") + _group(1, "latest") + CHAIN,
        RULE.replace("{rule}", "drop") + _group(1, "drop") + ONE,
        RULE.replace("{rule}", "careful") + CAREFUL,
    ]
    chat = f'  chat: {{url: "http://127.0.0.1:9/chat", {chat}}}\n'
    return HEAD + chat + "rules:" + "".join(rules)


@cache
def generations() -> tuple[LiveRuleset, LiveRuleset]:
    """The usual one, and one that pauses a rule and narrows a group and a target."""
    return _live(_text(calm=True)), _live(_text(calm=False))


def _live(text: str) -> LiveRuleset:
    loaded = config.load(text, path="rules.yaml", env={"SHOP": KEY.decode()})
    assert loaded.ruleset is not None, config.render_text(loaded.diagnostics)
    return LiveRuleset(loaded.ruleset, SecretValues({"shop": KEY}, {}))
