"""A believable payload of each sender that the wire is tried with; others send an empty object."""

import json
from typing import Any

ORDER = {
    "id": 5623489120001,
    "buyer_accepts_marketing": True,
    "cancelled_at": None,
    "contact_email": "ada@example.com",
    "created_at": "2024-01-15T10:30:00-05:00",
    "currency": "EUR",
    "total_price": "199.00",
    "total_tax": 31.77,
    "note": "Tür 7, bitte läuten",
    "tags": ["first", "gift"],
    "shipping_address": {"city": "Berlin", "zip": "10969", "latitude": 52.5031},
    "line_items": [
        {"id": 1, "sku": "boots-41", "quantity": 1, "price": "180.00", "properties": []},
        {"id": 2, "sku": "wax", "quantity": 2, "price": "9.50", "taxable": False},
    ],
}
BOUNCE = {
    "email": "gone@example.com",
    "timestamp": 1705312210,
    "event": "bounce",
    "category": ["newsletter"],
    "sg_message_id": "14c5d75ce93.dfd.64b470",
    "smtp-id": "<14c5d75ce93.dfd.64b470@mail.example.com>",
    "ip": "203.0.113.25",
    "type": "bounce",
    "status": "5.1.1",
    "reason": "550 5.1.1 no such user",
    "unique_args": {"campaign": "winter"},
}
ADA = {"name": "Ada Miller", "email": "ada@example.com", "username": "ada"}
PUSH = {
    "ref": "refs/heads/main",
    "before": "6113728f27ae82c7b1a177c8d03f9e96e0adf246",
    "after": "59b20b8d5c6ff8d09518454d4dd8b7b30f095ab5",
    "created": False,
    "base_ref": None,
    "repository": {"id": 186853002, "name": "example", "full_name": "octo/example", "size": 12},
    "pusher": ADA,
    "commits": [
        {
            "id": "59b20b8d5c6ff8d09518454d4dd8b7b30f095ab5",
            "message": "Mend the door\n\n\u201eso that it shuts\u201c",
            "timestamp": "2024-01-15T11:30:00+01:00",
            "author": ADA,
            "added": [],
            "modified": ["src/hinge.py"],
        }
    ],
}
MESSAGE = {
    "team_id": "T0001",
    "type": "event_callback",
    "event_time": 1705312200,
    "authorizations": [{"team_id": "T0001", "user_id": "U0BOT", "is_bot": True}],
    "event": {"type": "message", "user": "U2147483697", "text": "deploy main"},
}
CHARGE = {
    "object": "event",
    "created": 1705312200,
    "type": "charge.succeeded",
    "data": {"object": {"object": "charge", "amount": 19900, "billing_details": {"email": None}}},
}
CREATED = {"type": "user.created", "timestamp": "2024-01-15T10:30:00Z", "data": {"id": "u-1"}}
PAYLOADS: dict[str, dict[str, Any]] = {
    "commerce": ORDER,
    "email": BOUNCE,
    "code-host": PUSH,
    "gitea": PUSH,
    "slack": MESSAGE,
    "stripe": CHARGE,
    "standard-webhooks": CREATED,
}
ID_FIELDS = {"email": "sg_event_id", "slack": "event_id", "stripe": "id"}
"""Where a sender writes the delivery's id into the body."""


def payload(sender: str, delivery_id: str, number: int) -> bytes:
    """The body of one delivery; `number` makes it its own."""
    found = {**PAYLOADS.get(sender, {}), "number": number}
    if sender in ID_FIELDS:
        found[ID_FIELDS[sender]] = delivery_id
    return json.dumps([found] if sender == "email" else found).encode()
