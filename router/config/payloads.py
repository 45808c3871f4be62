"""What tests send: payloads from files, and names that payloads of the event do not have."""

import re
from functools import partial
from pathlib import Path

from router.config.context import LoadContext
from router.config.files import FolderFiles, UnreadableError
from router.config.language import json_value, plain_value
from router.expressions import NotJson, decode_json
from router.model.delivery import JSON
from router.providers import Provider, changes
from router.suggest import closest, edit_distance, meaning
from router.typing.lattice import LIST, OBJECT, Type, elements
from router.yaml_source import Mapping, Node, Scalar, Sequence, SourceText, shown

_FILE_NAME = re.compile(r"@?[\w./~-]+\.\w{1,8}")
CAPTURED_MIN = 8
"""Keys of the shape that a payload has which somebody has copied from the sender."""
_LONG = 8
"""Letters of a name that is hardly near another by chance."""


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


class PayloadNames:
    """Holds the names that one step sends against the shape of its event."""

    def __init__(self, context: LoadContext, provider: Provider, event: str) -> None:
        self.context = context
        self._batch = provider.splits
        name, _ = provider.split_name(event)
        self._shape = provider.shapes.payload(event) or provider.shapes.payload(name)

    def check_path(self, path: SourceText, base: JSON) -> None:
        """Report a name of a path that neither the payload nor its shape has."""
        kind, here, said = self._shape, base, "payload"
        for step in changes.steps(path.value):
            here = changes.part(here, step)
            if kind is None:
                return
            if kind.kinds & LIST and str(step).isdecimal():
                kind, said = elements(kind), f"{said}[]"
            else:
                kind = self._field(kind, str(step), said, path, known=here is not changes.NOTHING)
                said = f"{said}.{step}"

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
                name = SourceText(key.value, key)
                field = self._field(kind, key.value, said, name, may_be_real=True)
                if field is not None:
                    self._keys(child, field, f"{said}.{key.value}")

    def _field(
        self,
        kind: Type,
        name: str,
        said: str,
        at: SourceText,
        *,
        known: bool = False,
        may_be_real: bool = False,
    ) -> Type | None:
        """The type of a field; None: nothing is known of it, or it has been reported."""
        if kind.is_any or not kind.kinds & OBJECT or name in kind.fields:
            return kind.fields.get(name)
        whole = kind.rest is None or (bool(kind.fields) and kind.rest.is_any)
        if not known and (kind.partial or whole):
            self._unknown(kind, name, said, at, may_be_real=may_be_real)
        return None

    def _unknown(
        self, kind: Type, name: str, said: str, at: SourceText, *, may_be_real: bool
    ) -> None:
        near = closest(name, sorted(kind.fields))
        hint = meaning(near, fix=at.value == name)
        sure = bool(near) and (len(name) >= _LONG or edit_distance(name, near[0], 2) <= 1)
        if sure and not kind.partial and not may_be_real:
            self.context.error("misspelt-field", f"{said} has no field '{name}'", at, hint)
        elif near:
            message = f"{said} has no known field '{name}'"
            self.context.warning("misspelt-field", message, at, hint)
        elif not kind.partial:
            self.context.warning("unknown-field", f"no known field '{name}' in {said}", at)


def payload_of(context: LoadContext, node: Node) -> tuple[JSON, str | None]:
    """A step's `payload`, and the file that it is read from, if there is one."""
    if (name := named_file(context, node)) is None:
        return json_value(context, node), None
    return (read_payload(context, name) if context.tested else {}), name.value
