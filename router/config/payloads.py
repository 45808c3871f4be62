"""What tests send: payloads from files, and names that payloads of the event do not have."""

import re
from functools import partial
from pathlib import Path

import msgspec

from router.config.context import LoadContext
from router.config.files import FolderFiles, UnreadableError
from router.config.language import json_value, plain_value
from router.expressions import NotJson, decode_json
from router.model.delivery import JSON
from router.providers import Provider, changes
from router.suggest import closest, is_sure, meaning
from router.typing.lattice import LIST, OBJECT, Type, elements
from router.yaml_source import Mapping, Node, Scalar, Sequence, SourceText, shown

_FILE_NAME = re.compile(r"@?[\w./~-]+\.\w{1,8}")
CAPTURED_MIN = 8
"""Keys of the shape that a payload has which somebody has copied from the sender."""


def named_file(context: LoadContext, node: Node) -> SourceText | None:
    """The name in `{file: NAME}`; a lone name of a file, which is a text here, is reported."""
    text = plain_value(context, node) if isinstance(node, Scalar) else None
    if isinstance(text, str) and _FILE_NAME.fullmatch(text):
        name = shown(text.removeprefix("@"))
        context.error(
            "bad-step",
            f"'{shown(text)}' is a text here, not a file",
            node,
            f"to send what the file holds write {{file: {name}}}",
        )
    if not isinstance(node, Mapping) or list(node.entries) != ["file"]:
        return None
    found = node.get("file")
    return SourceText(found.value, found) if isinstance(found, Scalar) else None


def read_payload(context: LoadContext, name: SourceText) -> JSON:
    """The JSON of a file, relative to the file that names it; what is wrong is reported."""
    bad = partial(context.error, "bad-step")
    path = Path(context.report.source.path_at(name.node.start)).absolute().parent / name.value
    context.test_data.add(str(path))
    try:
        return decode_json(FolderFiles(path.parent).read(path.name))
    except UnreadableError as reason:
        bad(f"cannot read '{name.shown}': {reason}", name, "relative to the file it stands in")
    except NotJson as reason:
        bad(f"'{name.shown}' is not JSON: {reason}", name)
    return {}


class WrittenName(msgspec.Struct, frozen=True):
    """A name that a test writes: `value`, which begins at `start` of a text, in `said`."""

    value: str
    text: SourceText
    start: int
    said: str
    by_hand: bool
    """Surely: what is sent as a payload may have come so."""


class PayloadNames:
    """Holds the names that one step sends against the shape of its event."""

    def __init__(self, context: LoadContext, provider: Provider, event: str) -> None:
        self.context = context
        self._batch = provider.splits
        name, _ = provider.split_name(event)
        self._shape = provider.shapes.payload(event) or provider.shapes.payload(name)

    def check_path(self, path: SourceText, base: JSON) -> None:
        """Report a name of a path that neither the payload nor its shape has."""
        kind, here, said, start = self._shape, base, "payload", 0
        for step in map(str, changes.steps(path.value)):
            here = changes.part(here, step)
            start = path.value.index(step, start)
            if kind is None:
                return
            if kind.kinds & LIST and step.isdecimal():
                kind, said = elements(kind), f"{said}[]"
            else:
                name = WrittenName(step, path, start, said, by_hand=True)
                kind = self._field(kind, name, known=here is not changes.NOTHING)
                said = f"{said}.{step}"
            start += len(step)

    def check_payload(self, node: Node) -> None:
        """
        Warn of keys of a written payload that its shape does not have.

        One with many keys of the shape is not written by hand: it came, and its keys are real.
        """
        batch = self._batch and isinstance(node, Sequence)
        for one in node.items if batch and isinstance(node, Sequence) else [node]:
            known = self._shape.fields if self._shape is not None else {}
            written = one.entries.keys() if isinstance(one, Mapping) else set[str]()
            if self._shape is not None and len(written & known.keys()) < CAPTURED_MIN:
                self._keys(one, self._shape, "payload")

    def _keys(self, node: Node, kind: Type, said: str) -> None:
        if isinstance(node, Sequence) and kind.kinds & LIST:
            for one in node.items:
                self._keys(one, elements(kind), f"{said}[]")
        elif isinstance(node, Mapping):
            for key, child in node:
                text = SourceText(key.value, key)
                field = self._field(kind, WrittenName(key.value, text, 0, said, by_hand=False))
                if field is not None:
                    self._keys(child, field, f"{said}.{key.value}")

    def _field(self, kind: Type, name: WrittenName, *, known: bool = False) -> Type | None:
        """The type of a field; None: nothing is known of it, or it has been reported."""
        if kind.is_any or not kind.kinds & OBJECT or name.value in kind.fields:
            return kind.fields.get(name.value)
        whole = kind.rest is None or (bool(kind.fields) and kind.rest.is_any)
        if not known and (kind.partial or whole):
            self._unknown(kind, name)
        return None

    def _unknown(self, kind: Type, name: WrittenName) -> None:
        near = closest(name.value, sorted(kind.fields))
        place = (name.text, (name.start, name.start + len(name.value)), meaning(name.value, near))
        if near:
            sure = is_sure(name.value, near[0]) and name.by_hand and not kind.partial
            message = f"{name.said} has no {'' if sure else 'known '}field '{name.value}'"
            self.context.error_within("misspelt-field", message, *place, sure=sure)
        elif not kind.partial:
            message = f"no known field '{name.value}' in {name.said}"
            self.context.error_within("unknown-field", message, *place, sure=False)


def payload_of(context: LoadContext, node: Node) -> tuple[JSON, str | None]:
    """A step's `payload`, and the file that it is read from, if there is one."""
    if (name := named_file(context, node)) is None:
        return json_value(context, node), None
    return (read_payload(context, name) if context.tested else {}), name.value
