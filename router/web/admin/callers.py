"""Who calls the admin API, and what they may do."""

import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from router.clock import Clock
from router.model.named_token import NamedToken
from router.model.settings import ROLES, AdminRole
from router.operator.tokens import TokenLedger, digest_of
from router.web.admin.problems import Rejected
from router.web.admin.token_throttle import TokenThrottle


class Caller(msgspec.Struct, frozen=True):
    """
    Someone who may call. `name` goes into the audit; without `bodies` no payload is shown.
    """

    name: str
    role: AdminRole = "viewer"
    bodies: bool = True

    def may(self, access: str) -> bool:
        """Whether this is a caller of that role, or of one that may do more."""
        return self.role in ROLES[ROLES.index(access) if access in ROLES else 0 :]


ANYONE = Caller("anyone", "admin")
"""Whoever calls where no token is needed."""
NOBODY = Caller("nobody", "viewer", bodies=False)
"""Whoever calls a route that is open to everybody."""


def check_rights(caller: Caller, row: Mapping[str, Any]) -> None:
    """`row` is what a handler says of itself. Raises Rejected: it is not for this caller."""
    if not caller.may(access := row.get("access", "viewer")):
        may_not = {"operator": "look, not change", "admin": "not make, list or revoke tokens"}
        raise Rejected(403, f"the token {caller.name} may {may_not[access]}")
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
    Knows tokens. `held` gives those of files that count now, `named` those of the ledger; None: no
    token is needed (`--dev`).
    """

    def __init__(
        self,
        held: Callable[[], Sequence[HeldToken]] | None,
        named: TokenLedger | None = None,
        *,
        clock: Clock,
    ) -> None:
        self._held = held
        self._named = named
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
            StoreUnavailable: it is in no file, and the ledger cannot be asked.
        """
        if (found := await self.holder(token)) is not None:
            return found
        if not (wait_s := self._throttle.wait_s(peer)):
            raise WrongToken(fresh=self._throttle.wrong(peer, digest_of(token)))
        await self._throttle.pause()
        raise TooManyWrongTokens(wait_s)

    async def holder(self, token: bytes) -> Caller | None:
        """
        Whose token this is, if anybody's. All are compared, each in constant time: those of files
        first, which open also while the store does not answer. Raises StoreUnavailable.
        """
        found, named = self.holder_now(token), self._named
        if found is None and named is not None and token:
            found = _named_among(await named.counting(), digest_of(token))
        if found is not None and named is not None and self.required:
            named.used(found.name)
        return found

    def holder_now(self, token: bytes) -> Caller | None:
        """As `holder`, as far as it is known without asking the ledger."""
        if self._held is None:
            return ANYONE
        given = digest_of(token)
        files = [(one.caller, digest_of(one.value)) for one in self._held() if one.value]
        named = self._named.fresh if self._named else ()
        return _among(files, given) or _named_among(named, given)


def _named_among(tokens: Iterable[NamedToken], given: str) -> Caller | None:
    return _among([(Caller(t.name, t.role, t.bodies), t.digest) for t in tokens], given)


def _among(known: Iterable[tuple[Caller, str]], given: str) -> Caller | None:
    """By digests, which are of one length: comparing shows nothing of a token's length."""
    found: Caller | None = None
    for caller, digest in known:
        if hmac.compare_digest(given, digest):
            found = caller
    return found
