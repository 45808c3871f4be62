"""What Go structs write as JSON, read from their source and never compiled."""

import re
from collections.abc import Mapping
from pathlib import Path

from tests.shapes.seen import ANYTHING, OPEN_MAP, Seen, a_list, an_object, plain, together

_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"^type (\w+) (\[\]\*?\w+|\w+)$", re.MULTILINE)
_WORD = re.compile(r"^\s+\w+\s+(\w+)\s+= \"([^\"]*)\"", re.MULTILINE)
_FIELD = re.compile(r"^\s*\w+\s+([^\s`]+)\s+`json:\"([^\",]+)[^`]*`", re.MULTILINE)
_EMBEDDED = re.compile(r"^\s*\*?(\w+)\s*(?:`json:\",inline\"`)?$", re.MULTILINE)
_PLAIN = {"string": "string", "bool": "boolean", "time.Time": "timestamp", "float64": "number"}


class GoStructs:
    """The structs of one folder, by name."""

    def __init__(self, folder: Path) -> None:
        text = "\n".join(path.read_text("utf-8") for path in sorted(folder.glob("*.go")))
        self._structs: Mapping[str, str] = dict(_STRUCT.findall(text))
        self._named: Mapping[str, str] = dict(_NAMED.findall(text))
        self._words: dict[str, set[str]] = {}
        for name, word in _WORD.findall(text):
            self._words.setdefault(name, set()).add(word)
        self._seen: dict[str, Seen] = {}
        self._open: set[str] = set()

    def seen(self, written: str) -> Seen:
        """A type as Go writes it; a struct within itself may be anything."""
        name = written.removeprefix("*")
        if name in _PLAIN:
            found = plain(_PLAIN[name])
            # Any pointer may be null; of a time that is what it is for.
            return together([found, plain("null")]) if written == "*time.Time" else found
        if name.startswith("[]"):
            return a_list(self.seen(name[2:]))
        if re.fullmatch(r"u?int\d*", name):
            return plain("integer")
        if name in self._structs:
            return self._struct(name)
        if name in self._named:
            return self._of_name(name)
        return OPEN_MAP if name.startswith("map[") else ANYTHING

    def _struct(self, name: str) -> Seen:
        if name in self._open:
            return ANYTHING
        if name not in self._seen:
            self._open.add(name)
            self._seen[name] = an_object(self._fields(self._structs[name]))
            self._open.remove(name)
        return self._seen[name]

    def _fields(self, body: str) -> dict[str, Seen]:
        fields = {name: self.seen(kind) for kind, name in _FIELD.findall(body) if name != "-"}
        for embedded in _EMBEDDED.findall(body):
            if embedded in self._structs:
                fields |= self._struct(embedded).fields or {}
        return fields

    def _of_name(self, name: str) -> Seen:
        """A named type: a text that has names of its own values, or whatever it stands for."""
        words = frozenset(self._words.get(name, ()))
        if self._named[name] == "string":
            return Seen(frozenset({"string"}), words=words - {""})
        return self.seen(self._named[name])
