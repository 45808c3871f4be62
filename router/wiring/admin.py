"""The admin listener, put together: who may call, and what the metrics show."""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from router import log as logs
from router.clock import Clock
from router.egress import listens_locally
from router.errors import StoreUnavailable, UsageError
from router.metrics import Metrics
from router.operator.costly import CostlyAnswer
from router.operator.tokens import TokenLedger
from router.rules.live import LiveRef
from router.store.reads import StoreReads
from router.web.admin.callers import Caller, Callers, HeldToken

LOCAL_NAME = "token"
"""Who holds the token beside the store, in the audit."""


class MetricsPage:
    """The metrics, with what only the store knows, and why it is `unready`, if it is."""

    def __init__(
        self,
        metrics: Metrics,
        store: StoreReads,
        unready: Callable[[], Awaitable[str | None]],
        clock: Clock,
    ) -> None:
        self._metrics = metrics
        self._store = store
        self._clock = clock
        self._unready = unready
        self._work = CostlyAnswer(self._standing, clock)

    async def render(self) -> bytes:
        """All of it, in the Prometheus text format."""
        with contextlib.suppress(StoreUnavailable):  # the other numbers are wanted then, too
            self._metrics.work_stands(*await self._work.get())
        self._metrics.stands_ready(await self._unready() is None)
        self._metrics.log_lines_lost(logs.lost())
        return self._metrics.render()

    async def _standing(self) -> tuple[Mapping[str, int], int]:
        """Jobs by state, and how late the latest is."""
        states, due = await self._store.open_states(), await self._store.targets()
        now = self._clock.now()
        return states, max(0, now - min(due.values(), default=now))


def callers(
    live: LiveRef, local: str, tokens: TokenLedger | None = None, *, dev: bool, clock: Clock
) -> Callers:
    """
    Who may call: whoever has `local`, the token beside the store, one of the rules file as it is
    now, or one of `tokens`. With `dev`, on this machine alone, anybody.
    """
    if dev and listens_locally(live.current.ruleset.server.admin):
        return Callers(None, clock=clock)
    own = HeldToken(Caller(LOCAL_NAME, "admin"), local.encode("ascii"))

    def held() -> list[HeldToken]:
        """Ours, and the tokens of the rules file as far as their secrets still count."""
        current, now = live.current, clock.now()
        return [own] + [
            HeldToken(Caller(token.name, token.role, token.bodies), found.value)
            for token in current.ruleset.server.admin_tokens
            for found in current.secrets.verifying((token.secret,), now)
        ]

    return Callers(held, tokens, clock=clock)


def masked(body: bytes) -> bytes:
    """JSON without any secret of ours: an answer of a target may have held one."""
    text = body.decode("utf-8", "replace")
    if not logs.REDACTOR.hits(text):
        return body
    return msgspec.json.encode(logs.REDACTOR.value(msgspec.json.decode(body)))


def own_token(state: Path, make: Callable[[], str] = lambda: secrets.token_urlsafe(32)) -> str:
    """
    The token of whoever can read what lies beside the store, made once, 0600; routers that start
    together have one.

    Raises:
        UsageError: it cannot be kept there.
    """
    path = Path(f"{state}.token")
    try:
        with contextlib.suppress(FileNotFoundError):
            if kept := path.read_text("ascii").strip():
                return kept
        return _made(path, make)
    except OSError as error:
        raise UsageError(
            f"the token of the command line cannot be kept in {path}: {error.strerror}; "
            "name a folder in server.state_dir that the router may write"
        ) from None


def _made(path: Path, make: Callable[[], str]) -> str:
    """Or the one that another router has written meanwhile."""
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if kept := file.read().strip():
            return kept
        os.fchmod(file.fileno(), 0o600)
        token = make()
        file.write(token + "\n")
    return token
