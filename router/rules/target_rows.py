"""Targets of the live file, beside what dispatch and the store know of them."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import asdict

from router.kinds import ADDRESSED, KINDS
from router.model.settings import Target
from router.model.target import TargetCounts, TargetNow, TargetRow
from router.rules.live import LiveRuleset


def target_rows(
    live: LiveRuleset, now: Iterable[TargetNow], counts: Mapping[str, TargetCounts]
) -> tuple[TargetRow, ...]:
    """The targets of the file, then bare addresses and commands, and what else has work."""
    standing = {one.target: one for one in now}
    kinds = {action.target: action.kind for action in live.actions.values()}
    named = live.ruleset.targets
    called = {name for name, kind in kinds.items() if not KINDS[kind].local}
    others = sorted({*standing, *counts, *called} - named.keys())
    return tuple(
        [_row(name, target, standing, counts, ADDRESSED) for name, target in named.items()]
        + [_row(name, None, standing, counts, kinds.get(name)) for name in others]
    )


def known_targets(live: LiveRuleset) -> frozenset[str]:
    """Every target that the live rules name or call."""
    return frozenset({*live.ruleset.targets, *(a.target for a in live.actions.values())})


def _row(
    name: str,
    target: Target | None,
    standing: Mapping[str, TargetNow],
    counts: Mapping[str, TargetCounts],
    kind: str | None,
) -> TargetRow:
    values: dict[str, Any] = {"name": name, "named": target is not None}
    values["kind"] = kind or (ADDRESSED if "://" in name else None)
    if target is not None:
        values |= {"concurrency": target.concurrency, "rate": target.rate}
        # A query may hold what nobody else should see.
        url = None if target.url is None else urlsplit(target.url)._replace(query="").geturl()
        values |= {"url": url, "timeout_s": target.timeout_s}
    now = standing.get(name)
    if now is not None:
        values |= {f: v for f, v in asdict(now).items() if f not in ("target", "failed_since")}
        if now.state == "healthy" and now.failed_since is not None:
            values |= {"state": "failing", "since": now.failed_since}
            values["reason"] = now.last_error or "failed before this start"
    count = counts.get(name, TargetCounts())
    values |= {f: getattr(count, f) for f in count.__struct_fields__ if f != "oldest_due"}
    return TargetRow(**values, due_at=count.oldest_due)
