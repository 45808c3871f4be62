"""Tokens by name: the ledger keeps their hashes, and when each was last used."""

import asyncio
import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from router.clock import Clock
from router.config.spelling import TOKEN, TOKENS_TAKEN
from router.errors import NotFound, StoreUnavailable, UsageError
from router.model.named_token import NamedToken
from router.model.operations import Audit
from router.model.settings import OWN
from router.operator.audit import AuditTrail
from router.operator.requests import LOCAL, By, TokenName, TokenRequest
from router.operator.token_answers import NewToken, TokenList, TokenRevoked, TokenRow
from router.rules.live import LiveRef
from router.rules.ruleset import Ruleset
from router.store.protocol import FactStore
from router.store.reads import FactReads
from router.suggest import did_you_mean

PREFIX = "rtr_"
"""So that people, and programs that look for secrets, know what it is."""
VALUE_BYTES = 32
TOKENS, USES = "token/", "token-used/"
"""How the names of the facts begin."""
TOKENS_MAX = 500
FRESH_S = 1.0
USE_MS = 60_000
"""A use is written unless one was so short a time ago."""

_TAKEN = (*TOKENS_TAKEN, "nobody", "schedule", OWN)
"""They stand for others in the audit."""


def digest_of(token: bytes) -> str:
    """Enough for what nobody can guess: it has 32 random bytes."""
    return hashlib.sha256(token).hexdigest()


def new_value() -> str:
    """A token that there has never been."""
    return PREFIX + secrets.token_urlsafe(VALUE_BYTES)


class TokenLedger:
    """
    The named tokens of a store. What is changed here counts at once, what another router of the
    same database changes within FRESH_S.
    """

    def __init__(self, store: FactStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._turn = asyncio.Lock()
        self._known: list[NamedToken] = []
        self._fresh_until = 0.0
        self._used: dict[str, int] = {}
        self._writing: set[asyncio.Future[None]] = set()

    async def counting(self) -> list[NamedToken]:
        """Those that count now. Raises StoreUnavailable."""
        async with self._turn:  # or a reading that began before a change would be kept after it
            began = self._clock.monotonic()
            if began >= self._fresh_until:
                self._known = list(_read(await self._store.recall(TOKENS)))
                self._fresh_until = began + FRESH_S
            return self._of_now(self._known)

    @property
    def fresh(self) -> list[NamedToken]:
        """Those that are known to count, without waiting for the store."""
        now = self._clock.monotonic()
        return self._of_now(self._known) if now < self._fresh_until else []

    async def all(self) -> dict[str, NamedToken]:
        """By name, as they are kept now."""
        return {one.name: one for one in _read(await self._store.recall(TOKENS))}

    async def keep(self, name: str, token: NamedToken | None, audit: Audit) -> None:
        """Keep it under its name; None: it counts no more from here on."""
        async with self._turn:
            self._fresh_until = 0.0
            await self._store.remember({TOKENS + name: msgspec.to_builtins(token)}, audit)
        self._used.pop(name, None)
        await self._store.remember({USES + name: None})

    def used(self, name: str) -> None:
        """Somebody came in by it, or by another token of this name. It is written on the way."""
        now = self._clock.now()
        if abs(now - self._used.get(name, 0)) >= USE_MS:
            self._used[name] = now
            writing = asyncio.ensure_future(self._write(name, now))
            self._writing.add(writing)
            writing.add_done_callback(self._writing.discard)

    def _of_now(self, tokens: Iterable[NamedToken]) -> list[NamedToken]:
        now = self._clock.now()
        return [one for one in tokens if one.until is None or one.until > now]

    async def _write(self, name: str, at: int) -> None:
        with suppress(StoreUnavailable):  # the next use is written
            await self._store.remember({USES + name: at})


class TokenVerbs:
    """Makes tokens and takes them back."""

    tokens: TokenLedger
    audit: AuditTrail
    _clock: Clock
    _live: LiveRef

    async def new_token(self, request: TokenRequest, by: By = LOCAL) -> NewToken:
        """A new token; this is the one time that its value is told. Raises UsageError."""
        name, now = request.name, self._clock.now()
        known = await self.tokens.all()
        _check_name(name, known, self._live.current.ruleset)
        if request.role == "admin" and not request.bodies:
            raise UsageError(
                "an admin sees payloads, for it can make a token that does: make it an operator"
            )
        if request.until is not None and request.until <= now:
            raise UsageError("until is over: name a time to come")
        value = new_value()
        made = NamedToken(
            name, request.role, request.bodies, digest_of(value.encode()), now, by.who,
            request.until,
        )  # fmt: skip
        line = self.audit.line(by, "new_token", msgspec.to_builtins(request))
        await self.tokens.keep(name, made, line)
        self.audit.log(line, 1)
        return NewToken(**msgspec.structs.asdict(_row(made, None)), token=value)

    async def revoke_token(self, request: TokenName, by: By = LOCAL) -> TokenRevoked:
        """It opens nothing any more. Raises NotFound, UsageError."""
        name = request.name
        if name not in (known := await self.tokens.all()):
            if any(name == one.name for one in self._live.current.ruleset.server.admin_tokens):
                raise UsageError(f"{name} is a token of the rules file: take it out there")
            hint = did_you_mean(name, known) or "`router token list` has them all"
            raise NotFound(f"there is no token {name!r}; {hint}")
        line = self.audit.line(by, "revoke_token", msgspec.to_builtins(request))
        await self.tokens.keep(name, None, line)
        self.audit.log(line, 1)
        return TokenRevoked(name)


async def token_list(reads: FactReads, ruleset: Ruleset) -> TokenList:
    """Every token that opens the admin listener: that of the file first, then by name."""
    used = {
        name.removeprefix(USES): at
        for name, at in (await reads.recall(USES)).items()
        if isinstance(at, int)
    }
    rows = [TokenRow("token", "admin", bodies=True, kept="file", used_at=used.get("token"))]
    for one in ruleset.server.admin_tokens:
        until = ruleset.secrets[one.secret].until if one.secret in ruleset.secrets else None
        rows.append(
            TokenRow(
                one.name, one.role, one.bodies, "rules", until=until, used_at=used.get(one.name)
            )
        )
    rows += [_row(one, used.get(one.name)) for one in _read(await reads.recall(TOKENS))]
    return TokenList(tuple(rows))


def _row(token: NamedToken, used_at: int | None) -> TokenRow:
    known = msgspec.structs.asdict(token) | {"kept": "store", "used_at": used_at}
    return msgspec.convert(known, TokenRow)


def _read(facts: Mapping[str, Any]) -> Iterator[NamedToken]:
    """What a router of another version wrote, and this one cannot read, opens nothing."""
    for value in facts.values():
        with suppress(msgspec.ValidationError):
            yield msgspec.convert(value, NamedToken)


def _check_name(name: str, known: Mapping[str, NamedToken], ruleset: Ruleset) -> None:
    if not TOKEN.fullmatch(name):
        raise UsageError(
            f"{name[:70]!r} cannot be the name of a token: "
            "use up to 64 small letters, digits, '_' and '-'"
        )
    if name in _TAKEN:
        raise UsageError(f"{', '.join(_TAKEN)} stand for others in the audit: choose another name")
    if any(name == one.name for one in ruleset.server.admin_tokens):
        raise UsageError(f"the rules file has a token {name!r}: choose another name")
    if name in known:
        raise UsageError(f"there is a token {name!r}; `router token revoke {name}` ends it")
    if len(known) >= TOKENS_MAX:
        raise UsageError(f"there are {TOKENS_MAX} tokens: revoke some that nobody uses")
