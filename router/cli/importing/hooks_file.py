"""
A hooks file of adnanh/webhook: its hooks as nodes, each part with its place.

Everything is read as webhook reads it: YAML (of which JSON is a part) whose keys count in any case,
and numbers and truth values where a text is wanted.
"""

import re
from typing import Any

import msgspec
import yaml

from router.suggest import did_you_mean
from router.yaml_source import Mapping, Node, Report, Scalar, Sequence, Source, read, walk

LEFT_OUT = "not-imported"
"""The code of what keeps a hook out of the rules."""
OTHERWISE = "imported-otherwise"
"""The code of what a hook that is taken over loses, or does otherwise."""
UNSIGNED = "imported-unsigned"
"""The code of a hook that is taken over and that anybody may run."""

HOOK_KEYS = (
    "id",
    "execute-command",
    "command-working-directory",
    "response-message",
    "response-headers",
    "include-command-output-in-response",
    "include-command-output-in-response-on-error",
    "pass-environment-to-command",
    "pass-arguments-to-command",
    "pass-file-to-command",
    "parse-parameters-as-json",
    "trigger-rule",
    "trigger-rule-mismatch-http-response-code",
    "trigger-signature-soft-failures",
    "incoming-payload-content-type",
    "success-http-response-code",
    "http-methods",
)
_PARAMETER_KEYS = ("source", "name", "envname", "base64decode")
_PROVES = re.compile(
    r"token|secret|passw|signature|api-?key|(?:^|[-_])auth(?!ors?\b)", re.IGNORECASE
)
"""Names of parameters that show who sends."""
_TELLS = re.compile(
    r"event|topic|(?:^|[-_])(?:action|agent|branch|host|kind|method|ref|type)(?:$|[-_])",
    re.IGNORECASE,
)
"""Names of parameters that tell what happened."""
_PLACE = re.compile(r"[\w-]+", re.ASCII)
_SECRET = re.compile(
    r"""secret["']?[ \t]*:[ \t]*("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s,}"'][^,}\n]*)""",
    re.IGNORECASE,
)
_YES = ("y", "yes", "on", "true")
_GO_CALL = re.compile(
    r"""\{\{-?[ ]*(getenv|credential|cat)[ ]+["`]([^"`{}\s]+)["`][ ]*(?:\|[ ]*js[ ]*)?-?\}\}"""
)
_MARKS = {"getenv": "\ue000", "credential": "\ue001", "cat": "\ue002"}
_PADDING = "\ue003"
_SOURCES = dict(zip(_MARKS.values(), ("env", "credential", "file"), strict=True))
_MARKED = re.compile(f"[{''.join(_SOURCES)}][^{_PADDING}]+{_PADDING}+")


class HookParameter(msgspec.Struct, frozen=True):
    """A value of the request, or a fixed one, as a hook names it."""

    node: Node
    source: str
    name: str
    variable: str = ""
    encoded: bool = False

    @property
    def named(self) -> bool:
        """Whether its name says that it shows who sends."""
        return bool(_PROVES.search(self.name))

    @property
    def proves(self) -> bool:
        """Whether a fixed value of it is a token: by its place, in the payload by its name."""
        if self.source == "payload":
            return self.named and "." not in self.name
        told = not self.named and _TELLS.search(self.name)
        return self.is_text and bool(_PLACE.fullmatch(self.name)) and not told

    @property
    def is_text(self) -> bool:
        """Whether it is a text or not there, and of no other type."""
        return self.source in ("header", "url")


class Hook:
    """One hook; it is `taken` over until something in it cannot be said."""

    def __init__(self, report: Report, node: Node) -> None:
        self.report, self.node, self.taken = report, node, True
        self._fields = self.fields(node, HOOK_KEYS)
        self.id = self.text(self.get("id"))
        self.place = self.place_of(node)

    def get(self, key: str) -> Node | None:
        """The value of a key."""
        return self._fields.get(key)

    def at(self, key: str) -> Node:
        """Where something is said of a key."""
        return self.get(key) or self.node

    def place_of(self, node: Node) -> str:
        """The file and the line where this stands: `hooks.json:3`."""
        source = self.report.source
        return f"{source.path_at(node.start)}:{source.position(node.start)[0]}"

    def refuse(self, node: Node, message: str, hint: str | None = None) -> None:
        """The hook is left out: this of it cannot be said in rules."""
        self.taken = False
        self.report.error(LEFT_OUT, message, *_spot(node), hint)

    def differs(
        self, node: Node, message: str, hint: str | None = None, code: str = OTHERWISE
    ) -> None:
        """The hook is taken over, but not this of it."""
        self.report.warning(code, message, *_spot(node), hint)

    def fields(self, node: Node, known: tuple[str, ...]) -> dict[str, Node]:
        """The values of a mapping; keys that webhook ignores are mostly misspelt ones."""
        for key, _ in node if isinstance(node, Mapping) else ():
            if key.value.lower() not in known:
                message = f"webhook knows no key '{key.value}' and ignores it"
                self.differs(key, message, did_you_mean(key.value, known))
        return fields(node)

    def text(self, node: Node | None) -> str:
        """A text, as webhook's own reader of YAML 1.1 makes it; empty where there is none."""
        if node is None or is_null(node):
            return ""
        if not isinstance(node, Scalar):
            self.refuse(node, "a text was expected")
            return ""
        if _MARKED.search(node.value):
            self.refuse(
                node,
                "a template of webhook's stands here; only secrets are taken from the environment",
                "write the text itself, or `var.NAME` into the rules afterwards",
            )
        found = None if node.style else _resolved(node.value)
        if isinstance(found, float):
            self.differs(
                node, "webhook makes another text of such a number", "write it in quotes, as meant"
            )
        return str(found).lower() if isinstance(found, int) else node.value

    def reference(self, node: Node) -> tuple[str, str]:
        """Where a secret comes from (`env`, `credential`, `file`), or "" and its text."""
        marked = _MARKED.fullmatch(node.value) if isinstance(node, Scalar) else None
        if marked is None:
            return "", self.text(node)
        return _SOURCES[marked[0][0]], marked[0][1:].rstrip(_PADDING)

    def status(self, key: str) -> int:
        """A status; 0 if the hook gives none."""
        text = self.text(self.get(key))
        return int(text) if text.isdigit() else 0

    def items(self, node: Node | None) -> list[Node]:
        """The items of a list; none where there is no list."""
        if isinstance(node, Sequence):
            return node.items
        if node is not None:
            self.refuse(node, "a list was expected")
        return []

    def parameters(self, *keys: str) -> list[HookParameter]:
        """The parameters in the lists under these keys."""
        return [self.parameter(node) for key in keys for node in self.items(self.get(key))]

    def parameter(self, node: Node) -> HookParameter:
        """What a mapping of `source` and `name` names."""
        given = self.fields(node, _PARAMETER_KEYS)
        source, name, variable = (self.text(given.get(key)) for key in _PARAMETER_KEYS[:3])
        source, encoded = "url" if source == "query" else source, given.get("base64decode")
        return HookParameter(node, source, name, variable, is_yes(encoded))


def read_hooks(text: str, path: str, *, template: bool = False) -> tuple[Report, list[Hook]]:
    """
    The hooks of a file, and what is to be said of it. `template`: it is a Go template, as with
    webhook's `-template`.
    """
    report = Report(Source(_marked(text) if template else text, path))
    source = report.source
    for found in _SECRET.finditer(source.text):
        source.hide(*found.span(1))
    calls = [*re.finditer(r"\{\{.*?\}\}" if template else r"\{\{", source.text)]
    for call in calls if template else ():
        text = "of Go templates only getenv, credential and cat with a fixed name are read"
        report.error(LEFT_OUT, text, *call.span(), "write the file as the template makes it")
    root = None if report.failed else read(report)
    if report.failed and calls and not template:
        span = calls[0].span()
        report.error(LEFT_OUT, "a Go template begins here", *span, "read it by --template")
    if root is None or is_null(root):
        return report, []
    if not isinstance(root, Sequence):
        report.error(LEFT_OUT, "a list of hooks was expected", root.start, root.end)
        return report, []
    for node in walk([root]):
        given = fields(node)
        if "value" in given and "parameter" in given:  # what a rule compares with may be a token
            source.hide(given["value"].start, given["value"].end)
    return report, [Hook(report, node) for node in root.items]


def _marked(text: str) -> str:
    """Calls of a template as texts of the same length, which neither JSON nor YAML minds."""
    return _GO_CALL.sub(lambda m: (_MARKS[m[1]] + m[2]).ljust(len(m[0]), _PADDING), text)


def fields(node: Node) -> dict[str, Node]:
    """The values of a mapping that are not null, by their keys in small letters; else none."""
    entries = node if isinstance(node, Mapping) else ()
    return {key.value.lower(): value for key, value in entries if not is_null(value)}


def is_null(node: Node) -> bool:
    """Is it null, which for webhook is as good as absent?"""
    return isinstance(node, Scalar) and not node.style and node.value in ("", "~", "null", "Null")


def is_yes(node: Node | None) -> bool:
    """Is it true?"""
    return isinstance(node, Scalar) and node.value.lower() in _YES


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
