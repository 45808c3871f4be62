"""Builders: requests, secrets and definitions; they name only what matters."""

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers import Definition, Invented, Provider, builtin, parse_definition
from router.providers.waiting import Waiting

NOW_MS = 1_705_312_200_000
PUBLIC_URL = "https://hooks.example.com"
PROVIDERS = ("commerce", "email", "code-host")
EVERY = tuple(name for name, p in builtin().items() if name == p.name != "none")
"""Every kind of sender that proves itself, by its own name."""
SIGNING = tuple(
    name
    for name in EVERY
    for definition in [builtin()[name].definition]
    if definition.verify.signs_body and not definition.generic
)
"""Those of them that sign, each with a definition of its own."""
AT_HAND = tuple(n for n in SIGNING if builtin()[n].definition.verify.certificate is None)
"""Those of them whose keys nobody has to fetch first."""
SENDERS = tuple(name for name in EVERY if not builtin()[name].definition.generic)
"""Those of them that are one sender, with a file, a sample and a page of its own."""


def a_request(headers: Iterable[tuple[str, str]] = (), body: bytes = b"{}") -> InboundRequest:
    """A POST; header names in any case, values as latin-1."""
    pairs = tuple((name.lower().encode(), value.encode("latin-1")) for name, value in headers)
    return InboundRequest("POST", b"/wh_x", b"", pairs, body, "192.0.2.1", NOW_MS)


def a_secret(value: bytes, name: str = "main") -> LiveSecret:
    return LiveSecret(name, value)


def fixed_bytes(count: int) -> bytes:
    """Randomness that is the same in every run."""
    return hashlib.shake_128(b"fixed").digest(count)


def other_bytes(count: int) -> bytes:
    """Other randomness that is the same in every run."""
    return hashlib.shake_128(b"other").digest(count)


def invented(provider: Provider) -> Invented:
    return provider.invent_secret(fixed_bytes)


def a_delivery(
    provider: Provider,
    event: str | None = None,
    *,
    body: bytes | None = None,
    key: bytes | None = None,
    delivery_id: str = "id-1",
) -> InboundRequest:
    """A request as the provider's sender makes it, signed with the invented secret."""
    event = event or next((info.name for info in provider.events), "user.created")
    content = provider.compose(provider.sample(event), delivery_id) if body is None else body
    made = provider.prove(
        event=event,
        body=content,
        key=key or invented(provider).sign,
        delivery_id=delivery_id,
        now_ms=NOW_MS,
        address="/wh_x",
        public_url=PUBLIC_URL,
    )
    return changed(
        a_request(made.headers, made.body),
        method=provider.definition.methods[0],
        query_string=made.query.encode(),
        public_url=PUBLIC_URL,
    )


def changed(request: InboundRequest, **fields: Any) -> InboundRequest:
    """A copy with other fields."""
    old = {name: getattr(request, name) for name in request.__struct_fields__}
    return InboundRequest(**(old | fields))


def with_header(request: InboundRequest, name: bytes, value: bytes) -> InboundRequest:
    """A copy with this value in each header of that name."""
    return changed(
        request, headers=tuple((n, value if n == name else v) for n, v in request.headers)
    )


def verdict(
    provider: Provider,
    request: InboundRequest,
    *values: bytes,
    tolerance_s: int | None = None,
    now_ms: int = NOW_MS,
) -> Verified | Refused:
    """Judged with the given secrets, or the invented one; what it publishes is known."""
    given = values or (invented(provider).verify,)
    secrets = [a_secret(value, f"s{index}") for index, value in enumerate(given)]
    return settled(provider, request, secrets, now_ms=now_ms, tolerance_s=tolerance_s)


def settled(
    provider: Provider,
    request: InboundRequest,
    secrets: Sequence[LiveSecret],
    *,
    now_ms: int = NOW_MS,
    tolerance_s: int | None = None,
) -> Verified | Refused:
    """The verdict once everything that the sender publishes is known."""
    found = provider.judge(request, secrets, now_ms=now_ms, tolerance_s=tolerance_s)
    while isinstance(found, Waiting):
        found = found.then(published(provider).get(found.ask.address))
    return found


@cache
def published(provider: Provider) -> dict[str, bytes]:
    """What the provider's sender publishes, by address."""
    return provider.published(invented(provider))


def a_definition(**keys: Any) -> Definition:
    """A small definition of a user's, with the given keys instead of its own."""
    data: dict[str, Any] = {
        "names": ["acme"],
        "label": "Acme",
        "verify": {"scheme": "hmac", "header": "X-Acme-Signature"},
        "event": {"header": "X-Acme-Event"},
    }
    return parse_definition(data | keys)


def a_provider(name: str) -> Provider:
    return builtin()[name]
