"""
The JSON Schema of rules files, made of the same Structs that read them: for editors.

It says what a schema can say: keys, kinds of values, words. What needs the rest of the file (names
that must exist, expressions, one of several keys) is for `router check`.
"""

import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin
from urllib.parse import quote

from router.config import trial_schema, units
from router.config.further_keys import FURTHER
from router.config.kinds import SCHEMAS
from router.config.schema import FileEntry
from router.config.senders import event_names
from router.config.settings import ID, NAME
from router.config.trial_schema import TestsEntry
from router.model.retry import BUILT_IN
from router.providers import Provider
from router.yaml_source import Entry, EntryKey, Node, Table, keys_of

DRAFT = "http://json-schema.org/draft-07/schema#"
_SCALAR = {"type": ["string", "number", "boolean"]}
"""A text is taken as it is written, so a number or a boolean is one."""
_WHOLE = "[0-9]{1,12}\\s*"
_SCALARS: Mapping[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    units.Duration: {"type": "string", "pattern": f"^{_WHOLE}(ms|s|m|h|d)$", "examples": ["30s"]},
    units.Size: {"type": "string", "pattern": f"^{_WHOLE}(KiB|MiB|GiB)$", "examples": ["5MiB"]},
    units.Rate: {"type": "string", "pattern": "^[0-9]{1,9}\\s*/\\s*[smh]$", "examples": ["5/s"]},
    units.Day: {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
    units.ApiVersion: {
        "type": "string",
        "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$",
        "examples": ["2024-01"],
    },
    units.Moment: {"type": "string", "examples": ["2026-12-01T08:30:00Z"]},
    units.Fraction: {"type": "number", "minimum": 0, "maximum": 1},
}
_NAMED = {
    "FileEntry.secrets": NAME,
    "FileEntry.vars": NAME,
    "FileEntry.define": NAME,
    "FileEntry.targets": ID,
    "FileEntry.endpoints": ID,
    "FileEntry.retries": ID,
}
"""Tables of names that must look like this."""


_OFFERED = {
    "EndpointEntry.provider": "a provider",
    "RuleEntry.events": "an event",
    "SendEntry.event": "an event",
    "RetryEntry.name": "a retry policy",
    **{f"{s.entry.__name__}.{key}": f"a {key}" for s in SCHEMAS.values() for key in s.offers},
}
"""Texts for which an editor offers words, but takes others as well."""


_OF_A_CASE = {"type": "string", "pattern": r"\{\{\s*each\."}
"""Wherever a test says something, the value of a case may stand."""
_PLAIN = ("version", "tests", "name")


def schema_of_rules(providers: Mapping[str, Provider], *, version: str) -> dict[str, Any]:
    """The schema of a rules file; providers and their events are offered, others are allowed."""
    return _Maker(providers).schema(FileEntry, f"Rules of webhook-rules-router {version}")


def schema_of_tests(providers: Mapping[str, Provider], *, version: str) -> dict[str, Any]:
    """The schema of a file of tests."""
    return _Maker(providers).schema(TestsEntry, f"Tests of webhook-rules-router {version}")


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/definitions/{quote(name)}"}


class _Maker:
    """Makes one schema; each class becomes one definition."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        offered = {
            "a provider": list(providers),
            "an event": list(dict.fromkeys(n for p in providers.values() for n in event_names(p))),
            **{f"a {key}": list(w) for s in SCHEMAS.values() for key, w in s.offers.items()},
            "a retry policy": list(BUILT_IN),
        }
        self._definitions: dict[str, Any] = {
            name: {"anyOf": [{"enum": words}, _SCALAR]} for name, words in offered.items()
        }

    def schema(self, kind: type[Entry], title: str) -> dict[str, Any]:
        root = self._mapping(kind)
        return {"$schema": DRAFT, "title": title, **root, "definitions": self._definitions}

    def _of(self, kind: Any, place: str) -> dict[str, Any]:
        """The schema of a type, at `Class.key`."""
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return {} if set(get_args(Node)) <= set(arguments) else self._of(arguments[0], place)
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin is list:
            one = self._of(arguments[0], place)
            return {"anyOf": [one, {"type": "array", "items": one}]}
        if origin is Table:
            return self._table(arguments[0], place)
        if isinstance(kind, type) and issubclass(kind, Entry):
            return self._entry(kind)
        offered = _OFFERED.get(place)
        return _ref(offered) if offered else dict(_SCALARS.get(kind, _SCALAR))

    def _table(self, kind: Any, place: str) -> dict[str, Any]:
        values = True if kind is Node else self._of(kind, place)
        made = {"type": "object", "additionalProperties": values}
        if (name := _NAMED.get(place)) is None:
            return made
        return {**made, "propertyNames": {"pattern": f"^{name.pattern}$"}}

    def _entry(self, kind: type[Entry]) -> dict[str, Any]:
        name = kind.__name__.removesuffix("Entry")
        if name not in self._definitions:
            self._definitions[name] = {}  # conditions hold conditions
            self._definitions[name] = self._whole(kind)
        return _ref(name)

    def _whole(self, kind: type[Entry]) -> dict[str, Any]:
        """A mapping, or the lone scalar that means one of its keys."""
        mapping = self._mapping(kind)
        if kind.shorthand is None:
            return mapping
        (short,) = (key for key in keys_of(kind) if key.name == kind.shorthand)
        return {"anyOf": [self._key(kind, short), mapping]}

    def _mapping(self, kind: type[Entry]) -> dict[str, Any]:
        made: dict[str, Any] = {
            "type": "object",
            "description": " ".join((kind.__doc__ or "").split()),
            "properties": {
                key.name: self._key(kind, key)
                for key in (*keys_of(kind), *FURTHER.get(kind, ()))
                if key.name != kind.shorthand
            },
            "patternProperties": {"^x-": {}},
            "additionalProperties": False,
        }
        return {**made, "required": list(kind.required)} if kind.required else made

    def _key(self, kind: type[Entry], key: EntryKey) -> dict[str, Any]:
        made = self._of(key.kind, f"{kind.__name__}.{key.name}")
        if "$ref" in made:  # what stands beside a reference is ignored
            made = {"allOf": [made]}
        if kind.__module__ == trial_schema.__name__ and made and key.name not in _PLAIN:
            made = {"anyOf": [made, _OF_A_CASE]}
        if key.about:
            made = {"description": key.about, **made}
        return {**made, "examples": key.examples} if key.examples else made
