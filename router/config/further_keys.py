"""The keys that actions, and replies and calls of tests, have for each kind of action."""

from collections.abc import Mapping
from typing import Any, Literal

from router.config.kinds import SCHEMAS
from router.config.schema import ActionEntry, SharedActionEntry
from router.config.trial_schema import CallEntry, ReplyEntry
from router.kinds import KINDS
from router.kinds.kind import CallForm
from router.yaml_source import EntryKey, FurtherKeys, Node, SourceText, Table

_CALL_TYPES: Mapping[CallForm, Any] = {
    "text": SourceText,
    "texts": list[SourceText],
    "table": Table[SourceText],
    "json": Node | None,
}
_ACTIONS = tuple(EntryKey(key, key, row.entry, row.about) for key, row in SCHEMAS.items())
_REPLIES = (kind.reply for kind in KINDS.values() if kind.reply is not None)
_CALLS = {name: field for kind in KINDS.values() for name, field in kind.calls.items()}

FURTHER: FurtherKeys = {
    ActionEntry: _ACTIONS,
    SharedActionEntry: _ACTIONS,
    ReplyEntry: tuple(
        EntryKey(r.key, r.key, int if isinstance(r.values, range) else Literal[r.values], r.about)
        for r in _REPLIES
    ),
    CallEntry: tuple(EntryKey(n, n, _CALL_TYPES[f.form], f.about) for n, f in _CALLS.items()),
}
