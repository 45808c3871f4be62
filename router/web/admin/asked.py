"""The JSON that changes are asked with, where it is more than what the verb takes."""

import msgspec

from router.operator.requests import ChangeRequest, ReplayRequest


class ChangeBody(ChangeRequest, frozen=True):
    """
    What to change: deliveries or jobs by id, or those of a selector. `dry_run`: only the plan.
    """

    dry_run: bool = False


class ReplayBody(ReplayRequest, frozen=True):
    """
    What to replay. `recorded`: the original jobs again, instead of matching with today's rules.
    `rate` is jobs a second for each target, null: all at once. `name` is the replay's id: the same
    again makes nothing twice. `again`: also what has been replayed already. `dry_run`: only the
    plan.
    """

    dry_run: bool = False


class EmptyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No key at all."""
