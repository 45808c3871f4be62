"""
The hooks of adnanh/webhook's files as webhook reads them: keys count in any case, and numbers and
truth values are texts where a text is wanted.
"""

import re
from pathlib import Path
from string import Template
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import yaml

from router.suggest import did_you_mean
from router.yaml_source import Mapping, Node, Report, Scalar, Sequence, Source, read, walk

LEFT_OUT, UNSIGNED = "not-imported", "imported-unsigned"
_TABLE = yaml.safe_load(Path(__file__).with_name("notes.yaml").read_text("utf-8"))
_NOTES = {name: (code, text) for code, notes in _TABLE.items() for name, text in notes.items()}
"""The code and the text of all that is said of hooks."""
_SECRET = re.compile(
    r"""secret["']?[ \t]*:[ \t]*("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s,}"'][^,}\n]*)""",
    re.IGNORECASE,
)
_CALL = re.compile(
    r"""\{\{-?[ ]*(getenv|credential|cat)[ ]+["`]([^"`{}\s]+)["`][ ]*(?:\|[ ]*js[ ]*)?-?\}\}"""
)
_KINDS = {"getenv": "env", "credential": "credential", "cat": "file"}
_MARKED = re.compile("\ue000(getenv|credential|cat) ([^\ue001]+)\ue001+")
"""A call of a template as a text of the same length, which neither JSON nor YAML minds."""


class HookText(str):
    """A text of a hook. What a template's call names has its `kind`: env, credential or file."""

    node: Node
    kind: str

    def __new__(cls, text: str, node: Node, kind: str = "") -> "HookText":
        """At this place of the file."""
        self = super().__new__(cls, text)
        self.node, self.kind = node, kind
        return self

    @property
    def is_yes(self) -> bool:
        """Is it true?"""
        return self.lower() in ("y", "yes", "on", "true")


class Secret(HookText):
    """A text that a template's call may give."""


class HookPart(msgspec.Struct, frozen=True, eq=False):
    """A mapping of a hook: its place, and the values of the keys that webhook knows."""

    node: Node


class Header(HookPart, frozen=True, eq=False):
    """A header of the answer."""

    name: HookText
    value: HookText


class HookParameter(HookPart, frozen=True, eq=False):
    """A value of the request, or a fixed one."""

    source: HookText
    name: HookText
    envname: HookText
    base64decode: HookText

    @property
    def place(self) -> str:
        """The source; the query has two names."""
        return "query" if self.source == "url" else self.source

    @property
    def key(self) -> tuple[str, str]:
        """Equal for parameters that have the same value."""
        return self.place, self.name.lower()

    @property
    def is_text(self) -> bool:
        """Whether it is a text or not there, and of no other type."""
        return self.place in ("header", "query")


class Match(HookPart, frozen=True, eq=False):
    """What a trigger rule asks of a request."""

    type: HookText
    regex: HookText
    secret: Secret
    value: Secret
    parameter: HookParameter
    ip_range: HookText


PartT = TypeVar("PartT", bound=HookPart)


class Hook:
    """One hook; it is `taken` over until something in it cannot be said."""

    id: HookText
    execute_command: HookText
    command_working_directory: HookText
    response_message: HookText
    response_headers: list[Header]
    include_command_output_in_response: HookText
    include_command_output_in_response_on_error: Node | None
    pass_environment_to_command: list[HookParameter]
    pass_arguments_to_command: list[HookParameter]
    pass_file_to_command: list[HookParameter]
    parse_parameters_as_json: list[HookParameter]
    trigger_rule: Node | None
    trigger_rule_mismatch_http_response_code: HookText
    trigger_signature_soft_failures: HookText
    incoming_payload_content_type: HookText
    success_http_response_code: HookText
    http_methods: list[HookText]

    def __init__(self, report: Report, node: Node) -> None:
        self._report, self.node, self.taken = report, node, True
        vars(self).update(self._values(Hook, node, node))

    def place_of(self, node: Node) -> str:
        """The file and the line where this stands: `hooks.json:3`."""
        source = self._report.source
        return f"{source.path_at(node.start)}:{source.position(node.start)[0]}"

    def note(self, node: Node, note: str, /, **names: object) -> None:
        """Say this of the notes here; the hook is left out where its code says so."""
        code, text = _NOTES[note]
        message, *hint = (Template(line).substitute(names) for line in text.splitlines())
        self._tell(code, node, message, hint[0] if hint else None)

    def _tell(self, code: str, node: Node, message: str, hint: str | None) -> None:
        left_out = code == LEFT_OUT
        self.taken = self.taken and not left_out
        tell = self._report.error if left_out else self._report.warning
        tell(code, message, *_spot(node), hint)

    def fields(self, node: Node | None, known: tuple[str, ...]) -> dict[str, Node]:
        """The values of a mapping; keys that webhook ignores are mostly misspelt ones."""
        for key, _ in node if isinstance(node, Mapping) else ():
            if key.value.lower() not in known:
                message = f"webhook knows no key '{key.value}' and ignores it"
                self._tell("imported-otherwise", key, message, did_you_mean(key.value, known))
        return _fields(node)

    def items(self, node: Node | None) -> list[Node]:
        """The items of a list; none where there is no list."""
        if isinstance(node, Sequence):
            return node.items
        if node is not None:
            self.note(node, "not-list")
        return []

    def part(self, shape: type[PartT], node: Node | None, around: Node) -> PartT:
        """A mapping of this shape; what is not there stands where the whole is."""
        return shape(node or around, **self._values(shape, node, node or around))

    def _values(self, shape: type, node: Node | None, around: Node) -> dict[str, Any]:
        types = get_type_hints(shape)
        keys = {name.replace("_", "-"): name for name in shape.__annotations__}
        given = self.fields(node, tuple(keys))
        return {
            name: self._value(types[name], given.get(key), around) for key, name in keys.items()
        }

    def _value(self, shape: Any, node: Node | None, around: Node) -> Any:
        if get_origin(shape) is list:
            (inner,) = get_args(shape)
            return [self._value(inner, one, one) for one in self.items(node)]
        if not isinstance(shape, type):
            return node
        if issubclass(shape, HookPart):
            return self.part(shape, node, around)
        return HookText("", around) if node is None else self._text(node, shape is Secret)

    def _text(self, node: Node, secret: bool) -> HookText:
        """As webhook's own reader of YAML 1.1 makes it."""
        if not isinstance(node, Scalar):
            self.note(node, "not-text")
            return HookText("", node)
        if secret and (call := _MARKED.fullmatch(node.value)):
            return HookText(call[2], node, _KINDS[call[1]])
        if _MARKED.search(node.value):
            self.note(node, "call")
        found = None if node.style else _resolved(node.value)
        if isinstance(found, float):
            self.note(node, "number")
        text = str(found).lower() if isinstance(found, int) else node.value
        return HookText("" if _is_null(node) else text, node)


def read_hooks(text: str, path: str, *, template: bool = False) -> tuple[Report, list[Hook]]:
    """
    The hooks of a file, and what is to be said of it. `template`: it is a Go template, as with
    webhook's `-template`.
    """
    report = Report(Source(_CALL.sub(_marked, text) if template else text, path))
    source = report.source
    for found in _SECRET.finditer(source.text):
        source.hide(*found.span(1))
    calls = [*re.finditer(r"\{\{.*?\}\}" if template else r"\{\{", source.text)]
    for call in calls if template else ():
        message = "of Go templates only getenv, credential and cat with a fixed name are read"
        report.error(LEFT_OUT, message, *call.span(), "write the file as the template makes it")
    root = None if report.failed else read(report)
    if report.failed and calls and not template:
        span = calls[0].span()
        report.error(LEFT_OUT, "a Go template begins here", *span, "read it by --template")
    if root is None or _is_null(root):
        return report, []
    if not isinstance(root, Sequence):
        report.error(LEFT_OUT, "a list of hooks was expected", root.start, root.end)
        return report, []
    for given in map(_fields, walk([root])):
        if "value" in given and "parameter" in given:  # what a rule compares with may be a token
            source.hide(given["value"].start, given["value"].end)
    return report, [Hook(report, node) for node in root.items]


def _marked(call: re.Match[str]) -> str:
    return f"\ue000{call[1]} {call[2]}".ljust(len(call[0]), "\ue001")


def _fields(node: Node | None) -> dict[str, Node]:
    """The values of a mapping that are not null, by their keys in small letters; else none."""
    entries = node if isinstance(node, Mapping) else ()
    return {key.value.lower(): value for key, value in entries if not _is_null(value)}


def _is_null(node: Node) -> bool:
    """Is it null, which for webhook is as good as absent?"""
    return isinstance(node, Scalar) and not node.style and node.value in ("", "~", "null", "Null")


def _spot(node: Node) -> tuple[int, int]:
    """What is underlined: of a mapping its first key, for all of it may be long."""
    first = next(iter(node), None) if isinstance(node, Mapping) else None
    shown = first[0] if first else node
    return shown.start, shown.end


def _resolved(text: str) -> Any:
    """What PyYAML, a reader of YAML 1.1 too, makes of a plain scalar."""
    if text.lower() in ("y", "n"):
        return text.lower() == "y"
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # what stands within a line may be else alone
        return None
