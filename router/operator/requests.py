"""What an operator's verbs take: the same values on the command line, in JSON and in the store."""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Self, get_args

import msgspec

from router.errors import UsageError
from router.model.delivery import DeliveryState
from router.model.operations import Way
from router.model.selector import Criteria
from router.model.settings import AdminRole
from router.model.subscription import GrantedScopes, Subscription
from router.store.values import Selector

RATE = 10.0
"""Jobs a second that a replay gives to one target, unless it names a rate."""
RATE_MAX = 10_000.0

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_DELIVERY_STATES = frozenset(get_args(DeliveryState))


class By(msgspec.Struct, frozen=True):
    """
    Who asks or acts: how they proved themselves, from which address, and by which way. Without
    `bodies` they may see no payload, nor use a condition on one.
    """

    who: str
    peer: str | None = None
    way: Way | None = None
    bodies: bool = True


LOCAL = By("local", way="command")


class ChangeRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to change: deliveries or jobs by id, or those of a selector."""

    ids: tuple[str, ...] = ()
    selector: Criteria | None = None

    def check(self) -> None:
        """Raises UsageError: nothing is named or selected."""
        if not self.ids and self.selector is None:
            raise UsageError("name a delivery or job, or select some (--rule, --state, --since …)")

    def as_json(self) -> dict[str, Any]:
        """For the audit: what was given, no more."""
        given: dict[str, Any] = msgspec.to_builtins(self)
        return given | ({"ids": list(self.ids)} if self.ids else {})

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """What `as_json` gave."""
        return msgspec.convert(kept, cls)


class ReplayRequest(ChangeRequest, frozen=True):
    """
    What to replay: `ids` or a `selector`, not both.

    `recorded`: the original jobs again, instead of matching with today's rules. `rate` is jobs a
    second for each target, null: all at once. `name` is the replay's id: the same name again makes
    nothing twice. `again`: also what has been replayed already.
    """

    recorded: bool = False
    rate: float | None = RATE
    name: str | None = None
    again: bool = False

    def check(self) -> None:
        """Raises UsageError: it cannot be meant."""
        super().check()
        if self.ids and self.selector is not None:
            raise UsageError("name ids or select some, not both")
        if self.rate is not None and not 0 < self.rate <= RATE_MAX:
            raise UsageError(f"the rate must be over 0 and at most {RATE_MAX:g} jobs a second")
        if self.name is not None and not _NAME.fullmatch(self.name):
            raise UsageError(
                f"a replay's name has up to 64 letters, digits, . _ or -, not {self.name!r}"
            )

    def as_json(self) -> dict[str, Any]:
        """For the store and the audit; the name is the replay's id there."""
        given = {"recorded": self.recorded, "rate": self.rate, **super().as_json()}
        given.pop("name", None)
        return given

    def is_same(self, other: "ReplayRequest") -> bool:
        """
        Whether both are for the same. Times and the rate do not count: `--since 2h` is another
        moment whenever it is given.
        """
        return _timeless(self) == _timeless(other)

    @property
    def of_jobs(self) -> bool:
        """Whether it selects jobs to be made again alone; else deliveries, to be routed again."""
        selector = self.selector
        if selector is None or selector.rule or selector.replay or selector.cause:
            return selector is not None
        return selector.state is not None and selector.state not in _DELIVERY_STATES


def _timeless(request: ReplayRequest) -> tuple[Any, ...]:
    """Of values alone: what was decoded for the API may be of a type of its own."""
    if (selector := request.selector) is not None:
        selector = msgspec.structs.replace(Selector.of(selector), since=None, until=None)
    return request.ids, selector, request.recorded, request.again


class EraseRequest(ChangeRequest, frozen=True):
    """
    What to erase: deliveries by id, or those of a selector, of a batch only the events that its
    condition fits. `cancel`: jobs that have not run are cancelled first, else they run. `vacuum`:
    the store's file is then written anew, so that unused parts of it hold nothing either.
    """

    cancel: bool = False
    vacuum: bool = False

    def check(self) -> None:
        """Raises UsageError: nothing is named or selected, or only some of it."""
        super().check()
        if self.selector is not None and self.selector.limit is not None:
            raise UsageError("everything that is selected is erased: leave the limit out")

    def told(self) -> dict[str, Any]:
        """For the audit: what was selected, but of the condition and its values a digest alone."""
        given = self.as_json()
        selector = given.get("selector", {})
        where = {name: selector.pop(name) for name in ("where", "var") if name in selector}
        if where:
            text = msgspec.json.encode(where, order="sorted")
            selector["where"] = f"sha256:{sha256(text).hexdigest()}"
        return given


class PruneRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    Remove what the rules file's retention lets go; with `older_than` (milliseconds) also every
    finished delivery received longer ago.
    """

    older_than: int | None = None


class TargetRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The target to pause or resume, and why."""

    target: str
    reason: str = ""


class TokenRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    The token to make. Without `bodies` it sees no payloads; from `until` on (Unix milliseconds or
    RFC 3339) it opens nothing.
    """

    name: str
    role: AdminRole = "viewer"
    bodies: bool = True
    until: int | None = None


class TokenName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The token to revoke."""

    name: str


class BackupNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A backup that the command line made beside the server: its file, and its size."""

    path: str
    bytes: int = 0


class RecoverRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    Whose missed deliveries are asked for, from when on (Unix milliseconds or RFC 3339), null: where
    the last run ended, or six hours back. `dry_run`: only the plan.
    """

    endpoint: str
    since: int | None = None
    dry_run: bool = False


class RememberRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    Subscriptions by the names of their facts, as `router subscriptions` found them, and what the
    tokens are allowed.
    """

    facts: dict[str, Subscription | None] = {}
    scopes: tuple[GrantedScopes, ...] = ()
