"""Who calls the admin API, and what they may do."""

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from router.clock import Clock
from router.model.settings import AdminRole
from router.web.admin.problems import Rejected
from router.web.admin.token_throttle import TokenThrottle


class Caller(msgspec.Struct, frozen=True):
    """
    Someone who may call. `name` goes into the audit; without `bodies` no payload is shown.
    """

    name: str
    role: AdminRole = "viewer"
    bodies: bool = True


ANYONE = Caller("anyone", "operator")
"""Whoever calls where no token is needed."""
NOBODY = Caller("nobody", "viewer", bodies=False)
"""Whoever calls a route that is open to everybody."""


def check_rights(caller: Caller, row: Mapping[str, Any]) -> None:
    """`row` is what a handler says of itself. Raises Rejected: it is not for this caller."""
    if row.get("access") == "operator" and caller.role != "operator":
        raise Rejected(403, f"the token {caller.name} may look, not change")
    if row.get("payloads") and not caller.bodies:
        raise Rejected(403, f"the token {caller.name} may not see payloads")


class HeldToken(msgspec.Struct, frozen=True):
    """A token that is valid now, and whom it belongs to."""

    caller: Caller
    value: bytes

    def __repr__(self) -> str:
        return f"HeldToken({self.caller.name!r}, '***')"


class WrongToken(Exception):
    """The token is invalid; `fresh`: this address has not tried it of late."""

    def __init__(self, *, fresh: bool) -> None:
        super().__init__("invalid token")
        self.fresh = fresh


class TooManyWrongTokens(Exception):
    """The token is invalid, after too many others; `wait_s` says how long wrong ones are slow."""

    def __init__(self, wait_s: int) -> None:
        super().__init__(f"too many wrong tokens; wait {wait_s} s, or give the right one")
        self.wait_s = wait_s


class Callers:
    """
    Knows tokens. `held` gives those that count now; None: no token is needed (`--dev`).
    """

    def __init__(self, held: Callable[[], Sequence[HeldToken]] | None, *, clock: Clock) -> None:
        self._held = held
        self._throttle = TokenThrottle(clock)

    @property
    def required(self) -> bool:
        """Whether a token is needed at all."""
        return self._held is not None

    async def of(self, token: bytes, peer: str) -> Caller:
        """
        Whose token this is. A right one is never refused, however many wrong ones `peer` gave.

        Raises:
            WrongToken, TooManyWrongTokens: nobody's.
        """
        if (found := self.holder(token)) is not None:
            return found
        if not (wait_s := self._throttle.wait_s(peer)):
            raise WrongToken(fresh=self._throttle.wrong(peer, _digest(token)))
        await self._throttle.pause()
        raise TooManyWrongTokens(wait_s)

    def holder(self, token: bytes) -> Caller | None:
        """Whose token this is, if anybody's. All are compared, each in constant time."""
        if self._held is None:
            return ANYONE
        found: Caller | None = None
        given = _digest(token)
        for held in self._held():
            if hmac.compare_digest(given, _digest(held.value)) and held.value:
                found = held.caller
        return found


def _digest(token: bytes) -> bytes:
    """Of one length, so that comparing shows nothing of a token's length."""
    return hashlib.sha256(token).digest()
