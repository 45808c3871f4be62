"""Whether two answers are alike, but for what docs/from-adnanh-webhook.md says of every hook."""

import json
from collections.abc import Iterator

from tests.differential.webhook.requests import CommandRun, HookAnswer


def differences(theirs: HookAnswer, ours: HookAnswer) -> list[str]:
    """What differs, a line each."""
    if (theirs.run is None) != (ours.run is None):
        return [f"the command ran there: {theirs.run is not None}, here: {ours.run is not None}"]
    if theirs.run is None or ours.run is None:
        return []
    found = list(_runs(theirs.run, ours.run))
    if (theirs.status, theirs.text) != (ours.status, ours.text):
        found.append(f"answer: {theirs.status} {theirs.text!r}, {ours.status} {ours.text!r}")
    return found


def _runs(theirs: CommandRun, ours: CommandRun) -> Iterator[str]:
    if len(theirs.argv) != len(ours.argv):
        yield f"arguments: {theirs.argv}, {ours.argv}"
        return
    places = [
        (f"argument {at}", *pair)
        for at, pair in enumerate(zip(theirs.argv, ours.argv, strict=True))
    ]
    places += [
        (f"file {at}", *pair) for at, pair in enumerate(zip(theirs.files, ours.files, strict=True))
    ]
    names = sorted(theirs.env.keys() | ours.env.keys())
    # A missing value is an empty variable here, and none there.
    places += [(name, theirs.env.get(name, ""), ours.env.get(name, "")) for name in names]
    for place, there, here in places:
        if not _same(there, here):
            yield f"{place}: {there!r}, {here!r}"


def _same(theirs: str, ours: str) -> bool:
    return theirs == ours or (theirs, ours) in (("<nil>", ""), ("null", "")) or _json(theirs, ours)


def _json(theirs: str, ours: str) -> bool:
    """The same JSON: webhook sorts its keys and escapes `<`."""
    if theirs[:1] not in ("{", "["):
        return False
    try:
        return bool(json.loads(theirs) == json.loads(ours))
    except ValueError:
        return False
