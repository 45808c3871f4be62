"""What a trial has sent, without what differs from machine to machine and from run to run."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from router.config.snapshots import snapshots_text
from router.expressions import JSON, decode_json, encode_json
from router.expressions.compare import same
from router.kinds import KINDS
from router.kinds.kind import ActionCall
from router.legible import cut
from router.model.packed import plain_body
from router.model.trial import ActionKey
from router.rehearsal.differences import SHOWN_MAX
from router.rehearsal.record import TrialRecord

AS_IT_CAME = "(the body as it came)"
_OURS = re.compile(
    r"(?:user-agent|idempotency-key|traceparent|router-[a-z-]+)|TRACEPARENT|WEBHOOK_[A-Z]+"
)
"""Headers and variables that are the router's own."""
_ID = re.compile(r"\b(dlv|evt|job)_[0-9A-Z]{26}\b")
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def snapshot_of(seen: TrialRecord, environ: Mapping[str, str]) -> JSON:
    """
    By `rule/action`, in the order of the first calls, what each was called with; of equal calls
    one after another only the first. Ids that the router and the sender make are numbered.
    """
    written = {"/".join(key): _calls(key, seen, environ) for key in seen.calls}
    return decode_json(_numbered(encode_json(written).decode("utf-8")).encode("utf-8"))


def _calls(key: ActionKey, seen: TrialRecord, environ: Mapping[str, str]) -> list[JSON]:
    found: list[JSON] = []
    for call in seen.calls[key]:
        one = _described(call, seen, environ)
        if not found or not same(found[-1], one):
            found.append(one)
    return found


def _described(call: ActionCall, seen: TrialRecord, environ: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for name, field in KINDS[call.kind].calls.items():
        value = field.read(call)
        if field.form == "table":
            value = _own(value, environ)
        if value not in (None, {}):
            found[name] = AS_IT_CAME if _came(value, seen) else value
    return found


def _came(value: Any, seen: TrialRecord) -> bool:
    """Whether it is a delivery's whole body, as text or as JSON."""
    sent = value if isinstance(value, str) else encode_json(value).decode("utf-8")
    return any(
        sent == plain_body(delivery).decode("utf-8", "replace") for delivery in seen.deliveries
    )


def _own(table: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """What the rules file says; not what the machine and the router put there."""
    return {
        name: value
        for name, value in table.items()
        if not _OURS.fullmatch(name) and environ.get(name) != value
    }


def _numbered(text: str) -> str:
    """With `dlv_1`, `id-1` in place of ids: the same one everywhere the same."""
    names: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        kind = f"{found[1]}_" if found.re is _ID else "id-"
        count = sum(one.startswith(kind) for one in names.values())
        return names.setdefault(found[0], f"{kind}{count + 1}")

    return _UUID.sub(name, _ID.sub(name, text))


def snapshot_difference(old: JSON, new: JSON) -> Iterator[str]:
    """The lines that differ, `-` as it was and `+` as it is, with two lines around them."""
    before, after = ([] if one is None else snapshots_text(one).splitlines() for one in (old, new))
    for line in list(difflib.unified_diff(before, after, lineterm="", n=2))[3:]:
        yield "  …" if line.startswith("@@") else f"{line[0]} {cut(line[1:], SHOWN_MAX)}"
