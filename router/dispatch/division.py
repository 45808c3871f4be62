"""
How the limits of targets are divided among the nodes that run jobs of them. No I/O, no clock.

What all nodes together may use of a target is never above its limits: a share that grows takes only
what nobody else may still be using. A node is given anything new once it goes by what it was given
before.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from router.model.settings import TargetLimits
from router.model.share import NO_SHARE, ShareRow, Shares, TargetShare

IDLE_MOST = 1000
"""Targets that no rule names and nobody wants, whose shares are left where they are."""
_SAME = 1e-9
"""Rates that differ by less, of the target's rate, are one."""


class Part(msgspec.Struct, frozen=True):
    """
    A node's part in the division of one target: what it was given, what it may still be using, how
    many jobs it would run. Nothing is given to one that is not `open` to that.
    """

    given: TargetShare
    in_use: TargetShare
    wanted: int
    open: bool = True
    gone: bool = False


def divided(
    rows: Sequence[ShareRow], limits: Callable[[str], TargetLimits], targets: Collection[str]
) -> list[ShareRow]:
    """
    The rows that change when the `limits` of all these `targets`, and of any other that a node
    was given or wants, are divided anew.
    """
    in_use = [row.in_use() for row in rows]
    wanted = {target for row in rows for target in row.report.uses} | set(targets)
    others = sorted({target for found in in_use for target in found} - wanted)
    given: list[dict[str, TargetShare]] = [{} for _ in rows]
    for target in sorted(wanted) + others[:IDLE_MOST]:
        parts = [_part(row, found, target) for row, found in zip(rows, in_use, strict=True)]
        for mine, share in zip(given, shares_of(limits(target), parts), strict=True):
            if share.concurrency:
                mine[target] = share
    return [
        replace(row, shares=Shares(row.shares.version + 1, mine), held=found)
        for row, found, mine in zip(rows, in_use, given, strict=True)
        if not row.gone and row.settled and mine != row.shares.given
    ]


def _part(row: ShareRow, in_use: Mapping[str, TargetShare], target: str) -> Part:
    use = row.report.uses.get(target)
    return Part(
        given=row.shares.given.get(target, NO_SHARE),
        in_use=in_use.get(target, NO_SHARE),
        wanted=0 if use is None else max(use.wanted, use.running),
        open=row.settled and not row.gone,
        gone=row.gone,
    )


def shares_of(limits: TargetLimits, parts: Sequence[Part]) -> list[TargetShare]:
    """What each part is given of one target's limits now."""
    counts = _counts(limits.concurrency, parts)
    rates = _rates(limits, parts, counts)
    return [
        TargetShare(count, rate) if count else NO_SHARE
        for count, rate in zip(counts, rates, strict=True)
    ]


def _counts(limit: int, parts: Sequence[Part]) -> list[int]:
    """Of the concurrency: as much of what is to be each part's as nobody else may be using."""
    living = [n for n, part in enumerate(parts) if not part.gone]
    at_last = dict(zip(living, fair([parts[n] for n in living], limit), strict=True))
    free = limit - sum(part.in_use.concurrency for part in parts)
    counts = [part.given.concurrency for part in parts]
    for n in sorted(living, key=lambda n: parts[n].given.concurrency):
        if parts[n].open:
            mine = parts[n].in_use.concurrency
            counts[n] = min(at_last[n], mine + max(free, 0))
            free -= max(0, counts[n] - mine)
    return counts


def _rates(
    limits: TargetLimits, parts: Sequence[Part], counts: Sequence[int]
) -> list[float | None]:
    """Of the rate, the same part as of the concurrency, as far as nobody else may be using it."""
    rate = limits.rate
    if rate is None:
        return [None] * len(parts)
    free = rate - sum(part.in_use.most for part in parts)
    rates: list[float | None] = []
    for part, count in zip(parts, counts, strict=True):
        mine, before = part.in_use.most, part.given.rate
        if not part.open:
            rates.append(before)
            continue
        share = min(rate * count / limits.concurrency, mine + max(free, 0.0))
        free -= max(0.0, share - mine)
        kept = before is not None and abs(share - before) <= _SAME * rate
        rates.append(before if kept else share)
    return rates


def fair(parts: Sequence[Part], limit: int) -> list[int]:
    """
    What each part is to have in the end: one at least if there is one for each; of the rest as
    much as it wants, but nobody more than one who wants as much; and what nobody wants in equal
    parts. All stay as they are as long as each has what it is to have.

    If there is not one for each, those have one who want it, and of these those who have it.
    """
    given = [part.given.concurrency for part in parts]
    if limit < len(parts):
        order = sorted(range(len(parts)), key=lambda n: (not parts[n].wanted, not given[n], n))
        needs = [int(n in order[:limit]) for n in range(len(parts))]
    else:
        needs = _levelled(limit, [max(1, part.wanted) for part in parts], given)
    if sum(given) == limit and all(map(int.__ge__, given, needs)):
        return given
    left = limit - sum(needs)
    more = _levelled(left, [left] * len(parts), given)
    return list(map(int.__add__, needs, more))


def _levelled(limit: int, asked: Sequence[int], given: Sequence[int]) -> list[int]:
    """
    To each what it asks, or the same as others who ask for more; what cannot be divided evenly
    goes to those who were given more.
    """
    shares, left = [0] * len(asked), limit
    order = sorted(range(len(asked)), key=lambda n: (asked[n], given[n], -n))
    for rank, n in enumerate(order):
        shares[n] = min(asked[n], left // (len(asked) - rank))
        left -= shares[n]
    return shares
