"""The keys that actions, and replies and calls of tests, have for each kind of action."""

from collections.abc import Mapping
from typing import Any, Literal

from router.config.kinds import SCHEMAS
from router.config.rule_schema import ActionEntry, SharedActionEntry
from router.config.trial_schema import CallEntry, ReplyEntry, TextMatchEntry
from router.kinds import KINDS
from router.kinds.kind import CallForm
from router.yaml_source import (
    Entry,
    EntryKey,
    FurtherKeys,
    KeyRule,
    Node,
    SourceText,
    Table,
    one,
)

_REPLY_TYPES: Mapping[CallForm, Any] = {
    "text": SourceText,
    "texts": list[SourceText],
    "table": Table[SourceText],
    "json": Node | None,
}
_CALL_TYPES: Mapping[CallForm, Any] = {
    "text": TextMatchEntry,
    "texts": list[TextMatchEntry],
    "table": Table[TextMatchEntry],
    "json": Node | None,
}
_ACTIONS = tuple(
    EntryKey(key, key, row.entry, row.about, examples=list(row.examples) or None)
    for key, row in SCHEMAS.items()
)
_REPLIES = [kind.reply for kind in KINDS.values() if kind.reply is not None]
_CONTENTS = {name: part for reply in _REPLIES for name, part in reply.contents.items()}
_CALLS = {name: field for kind in KINDS.values() for name, field in kind.calls.items()}


def _code_type(values: range | tuple[str, ...]) -> Any:
    return int if isinstance(values, range) else Literal[values]


FURTHER: FurtherKeys = {
    ActionEntry: _ACTIONS,
    SharedActionEntry: _ACTIONS,
    ReplyEntry: (
        *(EntryKey(r.key, r.key, _code_type(r.values), r.about) for r in _REPLIES),
        *(EntryKey(n, n, _REPLY_TYPES[part.form], part.about) for n, part in _CONTENTS.items()),
    ),
    CallEntry: tuple(EntryKey(n, n, _CALL_TYPES[f.form], f.about) for n, f in _CALLS.items()),
}

FURTHER_RULES: Mapping[type[Entry], tuple[KeyRule, ...]] = {
    ActionEntry: (one(*SCHEMAS, "use"),),
    SharedActionEntry: (one(*SCHEMAS),),
}
"""What these keys say of each other."""
