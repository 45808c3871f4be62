"""
What every kept store holds: two deliveries that matched, one of them sent twice, and one that did
not. Each of the two has a job that succeeded, one that is dead, and one of a paused rule, which has
not been tried yet; that of the second is cancelled. Periods are long: time takes nothing away.
"""

from tests.acceptance.senders import CODE_ID, CODE_KEY, SHOP_ID, SHOP_KEY

ENVIRON = {"CODE_SECRET": CODE_KEY, "SHOP_SECRET": SHOP_KEY}
SERVER = "  retention: {succeeded: 3650d, unmatched: 3650d, dead: 3650d}\n"
MATCHED = (1, 2)
CANCELLED = MATCHED[1]
UNMATCHED = 3
NEW = 4
"""Numbers of deliveries, as a `Sender` takes them; the last is sent to today's program."""


def rules(*, mode: str, url: str) -> str:
    """Written for the first program: no word of it is younger."""
    return f"""
secrets:
  code: {{env: CODE_SECRET}}
  shop: {{env: SHOP_SECRET}}
endpoints:
  code: {{id: {CODE_ID}, provider: code-host, secrets: code, dedupe: {{window: 3650d}}}}
  shop: {{id: {SHOP_ID}, provider: commerce, secrets: shop, dedupe: {{window: 3650d}}}}
rules:
  - {{id: noted, from: code, actions: {{log: "number {{{{ payload.number }}}}"}}}}
  - {{id: failed, from: code, actions: {{http: {{url: "http://127.0.0.1:9/"}}}}, retry: none}}
  - {{id: late, mode: {mode}, from: code, actions: {{http: {{url: "{url}"}}}}}}
"""
