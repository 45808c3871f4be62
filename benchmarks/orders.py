"""
Many rules, of which an event can concern but one: ten topics, and a tenth as many shops as rules.

Each rule stands on 13 lines and says `topic == … && shop == … && decimal(payload.total_price) > …`.
"""

import json

from benchmarks import pushes
from router.providers import builtin
from tests.acceptance.senders import SHOP_ID, SHOP_KEY

TOPICS = (
    "orders/create",
    "orders/updated",
    "orders/paid",
    "orders/cancelled",
    "orders/fulfilled",
    "orders/partially_fulfilled",
    "checkouts/create",
    "checkouts/update",
    "transactions/create",
    "refunds/create",
)
AMOUNTS = {"transactions/create": "amount", "refunds/create": "transactions[0].amount"}
"""Where an amount stands in what has no total price."""
EVENT = "orders/paid"
SIGNED_SHOP = "example-shop.test"
"""The shop that `Provider.sign` writes into its header."""

PATH = f"/wh_{SHOP_ID}"
ENVIRON = {"SHOP_SECRET": SHOP_KEY}
HEAD = (
    "secrets: {shop: {env: SHOP_SECRET}}\n"
    f"endpoints:\n  shop: {{id: {SHOP_ID}, provider: commerce, secrets: shop}}\n"
)
BODY_BYTES = 2_000


def shop(number: int, count: int) -> str:
    """Of `count` shops the one in the middle is the sender's."""
    return SIGNED_SHOP if number == count // 2 else f"shop-{number}.test"


def rule_id(topic: str, of: str) -> str:
    return f"{topic.replace('/', '-')}-{of.partition('.')[0]}"


def rules(count: int) -> str:
    """`count` rules (a multiple of ten)."""
    shops = [shop(n, count // len(TOPICS)) for n in range(count // len(TOPICS))]
    return HEAD + "rules:\n" + "".join(rule(topic, of) for of in shops for topic in TOPICS)


def rule(topic: str, of: str) -> str:
    return (
        f"  - id: {rule_id(topic, of)}\n"
        f"    about: Large ones of {of}\n"
        "    mode: live\n"
        "    from:\n"
        "      - shop\n"
        "    match: >-\n"
        f"      topic == '{topic}'\n"
        f"      && shop == '{of}'\n"
        f"      && decimal(payload.{AMOUNTS.get(topic, 'total_price')}) > `100`\n"
        "    actions:\n"
        "      - id: note\n"
        "        log: order {{ payload.id }}\n"
        "        retry: none\n"
    )


def payload() -> dict[str, object]:
    """An order, a transaction and a refund, each large enough, of about `BODY_BYTES`."""
    item = {"sku": "SKU-0001", "title": "A thing of some use", "quantity": 1, "price": "19.90"}
    order = {"id": 1, "name": "#1001", "currency": "EUR", "total_price": "512.50"}
    paid = {"amount": "512.50", "transactions": [{"amount": "512.50"}]}
    return {**order, **paid, "line_items": [item] * (BODY_BYTES // len(json.dumps(item)))}


def request(port: int) -> bytes:
    """The signed request, with `SLOT` where the id goes."""
    content = json.dumps(payload()).encode()
    slot = pushes.SLOT.decode()
    headers = builtin()["commerce"].sign(
        event=EVENT, body=content, key=SHOP_KEY.encode(), delivery_id=slot, now_ms=0
    )
    return pushes.http(port, PATH, headers, content)
