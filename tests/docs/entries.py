"""The mappings that a rules file is made of."""

from collections.abc import Iterable

import msgspec

from router.config import kinds, schema
from router.yaml_source import Entry, OpenEntry


def entries() -> list[type[Entry]]:
    """Those of the schema, and those of each kind of action."""
    modules = (schema, kinds.http, kinds.shell, kinds.python, kinds.repository_dispatch)
    values = [value for one in modules for value in vars(one).values() if isinstance(value, type)]
    found = [one for one in values if issubclass(one, Entry) and one not in (Entry, OpenEntry)]
    return list(dict.fromkeys(found))


def keys(kind: type[Entry]) -> Iterable[str]:
    """The keys of a mapping that are its own, not a table's."""
    hidden = {"node", "broken", "chosen"}
    return [f.encode_name for f in msgspec.structs.fields(kind) if f.name not in hidden]
