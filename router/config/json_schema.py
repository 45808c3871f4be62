"""
The JSON Schema of rules files, made of the same Structs that read them: for editors.

It says what a schema can say: keys and what they say of each other, kinds of values, words, how
names are spelled. What needs the rest of the file (names that must exist, expressions) is for
`router check`.
"""

import re
import types
from collections.abc import Mapping
from itertools import combinations
from typing import Any, Literal, Union, get_args, get_origin
from urllib.parse import quote

from router.config import trial_schema, units
from router.config.further_keys import FURTHER, FURTHER_RULES
from router.config.kinds import SCHEMAS
from router.config.rule_schema import RetryEntry
from router.config.schema import EndpointEntry, FileEntry
from router.config.senders import event_names
from router.config.trial_schema import TestsEntry
from router.model.retry import BUILT_IN
from router.providers import Provider
from router.yaml_source import Entry, EntryKey, KeyRule, Node, Table, keys_of

DRAFT = "http://json-schema.org/draft-07/schema#"
_SCALAR = {"type": ["string", "number", "boolean"]}
"""A text is taken as it is written, so a number or a boolean is one."""
_ABOVE_ZERO = "(?=0*[1-9])"
_WHOLE = "[0-9]{1,12}\\s*"
_SCALARS: Mapping[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    units.Duration: {"type": "string", "pattern": f"^{_WHOLE}(ms|s|m|h|d)$", "examples": ["30s"]},
    units.Size: {"type": "string", "pattern": f"^{_WHOLE}(KiB|MiB|GiB)$", "examples": ["5MiB"]},
    units.Rate: {
        "type": "string",
        "pattern": f"^{_ABOVE_ZERO}[0-9]{{1,9}}\\s*/\\s*[smh]$",
        "examples": ["5/s"],
    },
    units.Day: {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
    units.RedactTime: {
        "type": "string",
        "pattern": f"^(stored|done|{_WHOLE}(ms|s|m|h|d))$",
        "examples": ["stored", "done", "30d"],
    },
    units.ApiVersion: {
        "type": "string",
        "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$",
        "examples": ["2024-01"],
    },
    units.Moment: {"type": "string", "examples": ["2026-12-01T08:30:00Z"]},
    units.Fraction: {"type": "number", "minimum": 0, "maximum": 1},
}
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


def schema_of_rules(providers: Mapping[str, Provider]) -> dict[str, Any]:
    """The schema of a rules file; providers and their events are offered, others are allowed."""
    return _Maker(providers).schema(FileEntry, "Rules of webhook-rules-router")


def schema_of_tests(providers: Mapping[str, Provider]) -> dict[str, Any]:
    """The schema of a file of tests."""
    return _Maker(providers).schema(TestsEntry, "Tests of webhook-rules-router")


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/definitions/{quote(name)}"}


class _Maker:
    """Makes one schema; each class becomes one definition."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._providers = providers
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

    def _of(self, key: EntryKey, kind: Any, place: str) -> dict[str, Any]:
        """The schema of a key's type, or of a part of it, at `Class.key`."""
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            anything = set(get_args(Node)) <= set(arguments)
            return {} if anything else self._of(key, arguments[0], place)
        if origin is list:
            one = self._of(key, arguments[0], place)
            return {"anyOf": [one, {"type": "array", "items": one, **_counted(key, "Items")}]}
        if origin is Table:
            return self._table(key, arguments[0], place)
        if origin is Literal:
            return {"enum": list(arguments)}
        if isinstance(kind, type) and issubclass(kind, Entry):
            return _limited(self._entry(kind), key)
        offered = _OFFERED.get(place)
        return _limited(_ref(offered) if offered else dict(_SCALARS.get(kind, _SCALAR)), key)

    def _table(self, key: EntryKey, kind: Any, place: str) -> dict[str, Any]:
        plain = EntryKey(key.name, key.field, kind)  # what is said of the table is not of a value
        values = True if kind is Node else self._of(plain, kind, place)
        if kind is RetryEntry:  # a policy that is named here is not the name of another
            values = {"allOf": [values, {"type": "object"}]}
        made = {"type": "object", "additionalProperties": values, **_counted(key, "Properties")}
        extra = key.limits.extra or {}
        names: dict[str, Any] = {}
        if extra.get("names"):
            names["pattern"] = f"^(?:{extra['names']})$"
        if extra.get("taken"):
            names["not"] = {"enum": extra["taken"]}
        return {**made, "propertyNames": names} if names else made

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
        if kind.required:
            made["required"] = list(kind.required)
        rules = [_rule(rule) for rule in (*kind.key_rules, *FURTHER_RULES.get(kind, ()))]
        if kind is EndpointEntry:
            rules += self._of_providers()
        return {**made, "allOf": rules} if rules else made

    def _of_providers(self) -> list[dict[str, Any]]:
        """What an endpoint of a built-in provider needs: what verifies, or that nothing does."""
        found: dict[tuple[str, ...], set[str]] = {}
        for provider in self._providers.values():
            keys = ("secrets", "verify") if provider.signed else ("verify",)
            if not provider.keyless:
                found.setdefault(keys, set()).update(provider.definition.names)
        return [
            _if(
                {"provider": {"enum": sorted(names)}},
                {"anyOf": [{"required": [key]} for key in keys]},
            )
            for keys, names in found.items()
        ]

    def _key(self, kind: type[Entry], key: EntryKey) -> dict[str, Any]:
        made = self._of(key, key.kind, f"{kind.__name__}.{key.name}")
        if "$ref" in made:  # what stands beside a reference is ignored
            made = {"allOf": [made]}
        if kind.__module__ == trial_schema.__name__ and made and key.name not in _PLAIN:
            made = {"anyOf": [made, _OF_A_CASE]}
        if key.about:
            made = {"description": key.about, **made}
        return {**made, "examples": key.examples} if key.examples else made


# -- limits and rules


def _counted(key: EntryKey, what: str) -> dict[str, int]:
    """How many items or properties there must and may be."""
    found = {"min" + what: key.limits.min_length, "max" + what: key.limits.max_length}
    return {name: count for name, count in found.items() if count is not None}


def _limited(made: dict[str, Any], key: EntryKey) -> dict[str, Any]:
    """One value within the limits of its key; those of a text hold for texts only."""
    limits, more = key.limits, dict[str, Any]()
    if limits.pattern is not None:
        more["pattern"] = f"^(?:{limits.pattern})$"
        if not any(re.fullmatch(limits.pattern, number) for number in ("1", "204", "404")):
            more["type"] = ["string", "object"] if "$ref" in made else "string"
    if limits.gt is not None and "pattern" in made:
        more["pattern"] = made["pattern"].replace("^", f"^{_ABOVE_ZERO}", 1)
    elif limits.gt is not None:
        more["exclusiveMinimum"] = limits.gt
    bounds = {"minimum": limits.ge, "maximum": limits.le}
    more |= {name: bound for name, bound in bounds.items() if bound is not None}
    if not more:
        return made
    return {"allOf": [made, more]} if "$ref" in made else {**made, **more}


def _rule(rule: KeyRule) -> dict[str, Any]:
    """What keys say of each other."""
    first, others = rule.keys[:1], rule.keys[1:]
    there: list[Any] = [{"required": [key]} for key in rule.keys]
    if rule.value is not None:
        return _if({first[0]: {"const": rule.value}}, {"not": {"anyOf": there[1:]}})
    match rule.how:
        case "one":
            return {"oneOf": there}
        case "some":
            return {"anyOf": there} if there else {"minProperties": 1}
        case "needs":
            beside = {"anyOf": there[1:]} if len(others) > 1 else list(others)
            return {"dependencies": {first[0]: beside}}
        case "none":
            return {"not": {"anyOf": there}}
    pairs = [{"required": list(pair)} for pair in combinations(rule.keys, 2)]
    return {"not": {"anyOf": pairs}}


def _if(properties: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    """What holds where all of these keys are there and have these values."""
    return {"if": {"required": list(properties), "properties": properties}, "then": then}
