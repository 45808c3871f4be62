"""
Handshakes: questions that a sender asks before it sends, answered and routed nowhere.

What is echoed is a short token of harmless characters; everything else is no answer.
"""

import re
from collections.abc import Sequence

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.providers.credentials import equal_one, parameters
from router.providers.definition import Definition, Handshake
from router.providers.read import OddBodyError, decoded, dug

BODY_MAX = 8 * 1024
_ECHOED = re.compile(r"[A-Za-z0-9._~+/=:-]{1,256}")


class HandshakeResponder:
    """Answers the handshakes of one definition."""

    def __init__(self, definition: Definition) -> None:
        self._by_query = [h for h in definition.respond if h.method == "GET"]
        self._by_body = [h for h in definition.respond if h.method == "POST"]
        self._status = definition.refuse_with
        # Most bodies hold none of these words, and are not decoded for nothing.
        self._words = [next(iter(h.when.values())).encode() for h in self._by_body]

    def verify_handshake(
        self, request: InboundRequest, secrets: Sequence[LiveSecret]
    ) -> Verified | Refused:
        """May this GET be answered? By its token, where the handshake has one."""
        values = _values(request)
        if (handshake := self._asking(values)) is None:
            return Refused("no_handshake", 400, "a GET that is not a handshake of this sender")
        if handshake.token is None:
            return Verified(None)
        if (
            winner := equal_one(
                values.get(handshake.token, "").encode("utf-8", "surrogateescape"),
                tuple(s for s in secrets if s.value),
            )
        ) is None:
            return Refused(
                "bad_token",
                self._status,
                f"handshake: `{handshake.token}` equals no live secret of this endpoint",
            )
        return Verified(winner.name)

    def answer(self, request: InboundRequest) -> bytes | None:
        """What to send back to a request that is proved, or None: it is no handshake."""
        if request.method == "GET":
            values = _values(request)
            handshake = self._asking(values)
            return _echo(values.get(handshake.echo)) if handshake else None
        return self._answer_body(request.body)

    def _asking(self, values: dict[str, str]) -> Handshake | None:
        fitting = (h for h in self._by_query if h.when.items() <= values.items())
        return next((h for h in fitting if _echo(values.get(h.echo)) is not None), None)

    def _answer_body(self, body: bytes) -> bytes | None:
        if len(body) > BODY_MAX or not any(word in body for word in self._words):
            return None
        try:
            payload = decoded(body)
        except OddBodyError:
            return None
        fitting = (
            handshake
            for handshake in self._by_body
            if all(dug(payload, name) == value for name, value in handshake.when.items())
        )
        return next((_echo(dug(payload, handshake.echo)) for handshake in fitting), None)


def _values(request: InboundRequest) -> dict[str, str]:
    """Query parameters that came once."""
    pairs = parameters(request.query_string)
    names = [name for name, _ in pairs]
    return {
        name.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
        for name, value in pairs
        if names.count(name) == 1
    }


def _echo(text: object) -> bytes | None:
    harmless = isinstance(text, str) and _ECHOED.fullmatch(text)
    return harmless[0].encode("ascii") if harmless else None
