"""What is fetched from elsewhere to prove deliveries, and how that goes."""

from typing import Literal

import msgspec

FetchedKind = Literal["address ranges", "key set", "certificate", "token issuer"]


class Fetched(msgspec.Struct, frozen=True):
    """
    One address: `at` is when it last gave a good answer, None for never; `failure` says what came
    instead the last time, at `failed_at`, None while all is well. Unix milliseconds.
    """

    kind: FetchedKind
    at: int | None = None
    failed_at: int | None = None
    failure: str | None = None
