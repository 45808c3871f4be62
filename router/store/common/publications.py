"""What becomes of a publication, whichever database keeps the others."""

import msgspec

from router.errors import PublishedMeanwhile
from router.store.values import Publication

KEPT = 100
"""So many publications are kept: the newest."""
AGREE_MS = 60_000
"""After so long a publication is in force wherever it can be, whoever lags."""


def following(
    given: Publication, newest: Publication | None, own: Publication | None, after: int | None
) -> Publication:
    """
    What is in force then: `newest`, and nothing changes; or `given` with the number under which
    it is to be added. `own` is the newest of the same node.

    Raises:
        PublishedMeanwhile: the newest is not `after` (0: there is none).
    """
    last = newest.seq if newest else 0
    if after is not None and after != last:
        raise PublishedMeanwhile(
            f"{newest.by} has published {newest.generation[:12]} meanwhile, as number {last}"
            if newest
            else "nothing has been published yet"
        )
    if after is None and newest and own and own.generation == given.generation:
        return newest
    return msgspec.structs.replace(given, seq=last + 1)
