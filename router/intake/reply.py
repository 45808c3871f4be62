"""What requests are answered with."""

from collections.abc import Mapping
from typing import Any

import msgspec

from router.model.delivery import Refused
from router.rules.live import LiveEndpoint
from router.store.values import Accepted, Duplicate

RETRY_AFTER_S = 5
_WORDS = {401: b"unauthorized", 403: b"forbidden"}


class Reply(msgspec.Struct, frozen=True):
    """
    What to answer. `retry_after` in seconds; `close` ends the connection; `challenge` is the
    `WWW-Authenticate` of a 401; `headers` are further ones, names in lower case.
    """

    status: int
    body: bytes
    content_type: str = "application/json"
    close: bool = False
    retry_after: int | None = None
    challenge: bytes | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()


UNAVAILABLE = Reply(503, b'{"error":"unavailable"}', close=True, retry_after=RETRY_AFTER_S)


def of_receipt(
    endpoint: LiveEndpoint, receipt: Accepted | Duplicate, asked: Mapping[str, Any] | None = None
) -> Reply:
    """The endpoint's own answer, or ours; `asked` is the request that it is made of."""
    answer = endpoint.settings.answer
    if endpoint.made is not None and asked is not None:
        known = {**asked, "delivery": {**asked["delivery"], "id": receipt.delivery}}
        answer = endpoint.made.answer(known)[0] or answer
    if answer is not None:
        text = receipt.delivery.join(answer.body)
        return Reply(answer.status, text.encode(), answer.type, headers=answer.headers)
    word = b"duplicate" if isinstance(receipt, Duplicate) else b"accepted"
    return Reply(200, b'{"status":"%b","delivery":"%b"}' % (word, receipt.delivery.encode()))


def of_refusal(endpoint: LiveEndpoint | None, refused: Refused) -> Reply:
    """A word that helps no forger: why, the operator sees."""
    if refused.status == UNAVAILABLE.status:
        return UNAVAILABLE
    word = _WORDS.get(refused.status, b"refused")
    challenge = endpoint.provider.challenge if endpoint and refused.status == 401 else None
    return Reply(refused.status, b'{"error":"%b"}' % word, challenge=challenge)
