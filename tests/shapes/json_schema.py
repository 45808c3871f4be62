"""What a JSON Schema (or the dialect of OpenAPI 3) says of a value."""

from collections.abc import Mapping
from typing import Any

from tests.shapes.seen import ANYTHING, OPEN_MAP, Seen, a_list, an_object, plain, together

_FORMATS = {"date-time": "timestamp", "date": "date", "uri": "url", "email": "email"}
Schema = Mapping[str, Any]


class SchemaReader:
    """Reads schemas of one document; `document` holds what `$ref` points into."""

    def __init__(self, document: Schema) -> None:
        self._document = document
        self._read: dict[str, Seen] = {}
        self._open: set[str] = set()

    def seen(self, schema: Schema) -> Seen:
        """What it allows; a schema within itself allows anything."""
        if (place := schema.get("$ref")) is not None:
            return self._referred(place)
        if "allOf" in schema:
            parts = [self.seen(part) for part in schema["allOf"]]
            rest = {k: v for k, v in schema.items() if k != "allOf"}
            return _all([*parts, *([self.seen(rest)] if "properties" in rest else [])])
        found = self._choice(schema) or self._plain(schema)
        return together([found, plain("null")]) if schema.get("nullable") else found

    def _referred(self, place: str) -> Seen:
        if place in self._open:
            return ANYTHING
        if place not in self._read:
            self._open.add(place)
            target: Any = self._document
            for key in place.removeprefix("#/").split("/"):
                target = target[key]
            self._read[place] = self.seen(target)
            self._open.remove(place)
        return self._read[place]

    def _choice(self, schema: Schema) -> Seen | None:
        choices = schema.get("oneOf") or schema.get("anyOf")
        if not choices:
            return None
        found = together([self.seen(one) for one in choices])
        if schema.get("properties"):  # each of them has these too
            found = _all([found, self._plain(schema)])
        return found

    def _plain(self, schema: Schema) -> Seen:
        words = [schema["const"]] if "const" in schema else schema.get("enum", [])
        kinds = schema.get("type")
        kinds = [kinds] if isinstance(kinds, str) else list(kinds or ())
        if not kinds:
            kinds = sorted({_KINDS[type(word)] for word in words}) or (
                ["object"] if "properties" in schema else []
            )
        if None in words:
            kinds.append("null")
        return together([self._one(kind, schema, words) for kind in kinds]) if kinds else ANYTHING

    def _one(self, kind: str, schema: Schema, words: list[Any]) -> Seen:
        if kind == "object":
            fields = schema.get("properties")
            if not fields:
                return OPEN_MAP
            return an_object({name: self.seen(one) for name, one in fields.items()})
        if kind == "array":
            items = schema.get("items")
            return a_list(self.seen(items) if isinstance(items, Mapping) and items else None)
        if kind == "string":
            texts = frozenset(word for word in words if isinstance(word, str))
            return Seen(frozenset({_FORMATS.get(schema.get("format", ""), "string")}), words=texts)
        return plain(kind)


_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def _all(parts: list[Seen]) -> Seen:
    """One object with what each of them says; a part that says nothing adds nothing."""
    told = [part for part in parts if part.fields or "any" not in part.kinds]
    return together(told)
