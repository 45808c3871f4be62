"""YAML text to positioned, bounded nodes to typed values, all faults collected."""

from router.yaml_source.decode import Decoder, Refusal, described, means_nothing, opening
from router.yaml_source.entries import (
    Entry,
    EntryKey,
    FurtherKeys,
    KeyRule,
    OpenEntry,
    SourceText,
    Table,
    doc,
    keys_of,
    most,
    named,
    needs,
    none,
    one,
    some,
)
from router.yaml_source.nodes import Mapping, Node, Scalar, Sequence, node_at, walk
from router.yaml_source.offsets import offsets
from router.yaml_source.reading import NO_MEMORY, Bounds, read, scalars, shift, shown
from router.yaml_source.refusals import collision, quoting
from router.yaml_source.rewriting import instead, within
from router.yaml_source.scalars import NumberError, resolve
from router.yaml_source.source import Report, Source

__all__ = [
    "NO_MEMORY",
    "Bounds",
    "Decoder",
    "Entry",
    "EntryKey",
    "FurtherKeys",
    "KeyRule",
    "Mapping",
    "Node",
    "NumberError",
    "OpenEntry",
    "Refusal",
    "Report",
    "Scalar",
    "Sequence",
    "Source",
    "SourceText",
    "Table",
    "collision",
    "described",
    "doc",
    "instead",
    "keys_of",
    "means_nothing",
    "most",
    "named",
    "needs",
    "node_at",
    "none",
    "offsets",
    "one",
    "opening",
    "quoting",
    "read",
    "resolve",
    "scalars",
    "shift",
    "shown",
    "some",
    "walk",
    "within",
]
