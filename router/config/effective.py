"""The effective rules file: includes, shared actions and defaults written out."""

import re
from collections.abc import Callable
from typing import Any

import yaml

from router.config import schema, server_schema
from router.config.kinds import SCHEMAS
from router.config.rule_schema import ActionEntry, ConcurrencyEntry, SharedActionEntry
from router.yaml_source import Entry, Mapping, Node, Scalar, Sequence, Table, keys_of, scalars
from router.yaml_source.credentials import without_secrets

_PARTS: dict[str, type[Entry]] = {
    "limits": server_schema.LimitsEntry,
    "retention": server_schema.RetentionEntry,
    "reload": server_schema.ReloadEntry,
}
_FILLED = (
    *(server_schema.ServerEntry, *_PARTS.values(), schema.TargetEntry, schema.EndpointEntry),
    *(schema.DedupeEntry, ConcurrencyEntry, *(one.entry for one in SCHEMAS.values())),
)
"""Where a key that is left out has the default that its description names."""
_REFERENCES = (schema.SecretEntry, server_schema.SettingEntry)
_REMARKS = {"\ue000": "  # default", "\ue001": "  # not set", "\ue002": "  # set"}
_DEFAULT, _UNSET, _SET = _REMARKS
_REMARKED = re.compile(f"([{''.join(_REMARKS)}])(['\"]?)$", re.MULTILINE)
_MAP, _SEQ, _STR = (f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str"))
_RESOLVER: Any = yaml.resolver.Resolver()
Made = dict[str, yaml.Node]


class EffectiveFile:
    """
    Writes a file without errors as YAML that means the same, its tests left out. What a variable
    or a file holds is never shown: `is_set` says whether the `env`, `file` or `credential` of a
    name is there.
    """

    def __init__(self, file: schema.FileEntry, is_set: Callable[[str, str], bool]) -> None:
        self._file, self._is_set = file, is_set
        self._shared = {name.value: entry for name, entry in file.actions or ()}

    def text(self) -> str:
        """All of it; a shared action stands there only if it has parameters."""
        server = self._file.server or server_schema.ServerEntry(node=Mapping(0, 0))
        shared = {n: self._made(one) for n, one in self._shared.items() if _has_parameters(one)}
        made: Made = {"version": _scalar("1"), "server": self._made(server)}
        made["vars"] = _mapping({t.value: self._variable(n) for t, n in self._file.vars or ()})
        made["actions"] = _mapping(shared)
        for key in keys_of(schema.FileEntry):
            value = getattr(self._file, key.field)
            if key.name not in (*made, "include", "tests") and value is not None:
                made[key.name] = self._made(value)
        whole = _mapping({name: node for name, node in made.items() if node.value})
        text = yaml.serialize(whole, Dumper=yaml.SafeDumper, width=2**31, allow_unicode=True)
        return _REMARKED.sub(lambda found: found[2] + _REMARKS[found[1]], text)

    def _made(self, value: Any, node: Any = None) -> yaml.Node:
        """What was read as this value; its `node` where the value does not have it."""
        match value:
            case Entry(node=Mapping() as own):
                return _mapping(self._keys(value, own))
            case Table():
                return _mapping({text.value: self._made(one) for text, one in value})
            case [Entry(), *_]:
                return _sequence([self._made(one) for one in value])
        return _as_written(node or (value if isinstance(value, Node) else value.node))

    def _variable(self, node: Node) -> yaml.Node:
        if isinstance(node, Mapping) and node.entries.keys() in ({"env"}, {"env", "default"}):
            return self._made(server_schema.SettingEntry(node=node))
        return _as_written(node)

    def _keys(self, entry: Entry, node: Mapping) -> Made:
        keys = {key.name: key for key in keys_of(type(entry))}
        values = {name: getattr(entry, key.field) for name, key in keys.items()}
        values |= getattr(entry, "chosen", {})
        made = {name.value: self._made(values.get(name.value), one) for name, one in node}
        if isinstance(entry, _REFERENCES):
            for name in made.keys() & {"env", "file", "credential"}:
                told = str(made[name].value)
                made[name] = _scalar(told + (_SET if self._is_set(name, told) else _UNSET))
        if isinstance(entry, ActionEntry) and entry.use is not None:
            shared = self._shared[entry.use.value]
            if not _has_parameters(shared) and isinstance(shared.node, Mapping):
                made = {"id": made.pop("use"), **self._keys(shared, shared.node), **made}
        if isinstance(entry, server_schema.ServerEntry):
            parts = {name: part(node=Mapping(0, 0)) for name, part in _PARTS.items()}
            made |= {name: self._made(part) for name, part in parts.items() if name not in made}
        for name, key in keys.items() if type(entry) in _FILLED else ():
            if name not in made and key.default is not None:
                made[name] = _scalar(key.default + _DEFAULT)
        return made


def _has_parameters(shared: SharedActionEntry) -> bool:
    return shared.given is not None or any("with." in text.value for text in scalars(shared.node))


def _as_written(node: Node) -> yaml.Node:
    if isinstance(node, Scalar):
        return _scalar(node.value, node.style)
    if isinstance(node, Sequence):
        return _sequence([_as_written(one) for one in node.items])
    return _mapping({name.value: _as_written(one) for name, one in node})


def _sequence(made: list[yaml.Node]) -> yaml.Node:
    return yaml.SequenceNode(_SEQ, made, None, None, False)


def _mapping(made: Made) -> yaml.Node:
    pairs = [(yaml.ScalarNode(_STR, name), node) for name, node in made.items()]
    return yaml.MappingNode(_MAP, pairs, None, None, False)


def _scalar(value: str, style: str = "") -> yaml.Node:
    value = without_secrets(value)
    tag = _STR if style else _RESOLVER.resolve(yaml.ScalarNode, value, (True, False))
    return yaml.ScalarNode(tag, value, style=style or None)
