"""The JSON that changes are asked with."""

from typing import Any

import msgspec


class SelectorBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The one selector. Times are Unix milliseconds; what is left out is any."""

    endpoint: str | None = None
    rule: str | None = None
    event: str | None = None
    state: str | None = None
    since: int | None = None
    until: int | None = None
    limit: int | None = None
    where: str | None = None
    replay: str | None = None
    cause: str | None = None


class Chosen(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    What to change: deliveries or jobs by id, or those of a selector. `dry_run`: only say how many.
    """

    ids: tuple[str, ...] = ()
    selector: SelectorBody | None = None
    dry_run: bool = False


class ReplayBody(Chosen, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    What to replay. `recorded`: the jobs of that day, not what the rules want now. `rate` is
    jobs a second for each target, null: all at once. `name` is the
    replay's id: the same again makes nothing twice. `again`: also what has been replayed already.
    """

    recorded: bool = False
    rate: float | msgspec.UnsetType | None = msgspec.UNSET
    name: str | None = None
    again: bool = False


class SubscriptionFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Subscriptions by name, as `router subscriptions` found them."""

    facts: dict[str, Any]


class Pruning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What ended longer ago than `older_than` milliseconds goes; left out: as retention says."""

    older_than: int | None = None


class Paused(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The target that is to be called no more, or again, and why."""

    target: str
    reason: str = ""


class BackedUp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A backup that the command line made beside the server: its file, and its size."""

    path: str
    bytes: int = 0


class EmptyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No key at all."""
