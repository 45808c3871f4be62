"""What a hook reads of a request, as expressions."""

import re
from collections.abc import Mapping

from router.cli.importing.formulas import Formula, every, some
from router.cli.importing.hooks_file import Hook, HookParameter
from router.expressions import encode_json
from router.expressions.changes import quoted_step

_USUAL = re.compile(r"-?[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*|#text")
_REMOVED = re.compile(r"authorization|cookie|proxy-.*")
"""Headers that are not stored, and so not seen by rules."""
ENTIRE = {"entire-payload": "payload", "entire-headers": "headers", "entire-query": "query"}
_READ = ("header", "url", "payload", "string", "raw-request-body", *ENTIRE)


class RequestValues:
    """
    The values of one hook. `decoded` names the definition that is the JSON within a parameter;
    with `whole_body` the payload is the body as text.
    """

    def __init__(
        self, hook: Hook, decoded: Mapping[tuple[str, str], str], *, whole_body: bool
    ) -> None:
        self._hook = hook
        self._decoded = decoded
        self._whole_body = whole_body

    def paths(self, parameter: HookParameter) -> list[str]:
        """Where the value may stand, the place that counts first; none if it cannot be said."""
        source, name = parameter.source, parameter.name
        first, dot, rest = name.partition(".")
        if source == "header":
            return self._header(parameter)
        if (define := self._decoded.get((source, first))) is not None:
            return _paths(f"def.{define}", rest) if dot else [f"def.{define}"]
        if source == "url":
            return ["query" + quoted_step(name)]
        if source == "payload":
            return _in_payload(name)
        if source == "raw-request-body" and self._whole_body:
            return ["payload"]
        return self._cannot(parameter)

    def text(self, parameter: HookParameter) -> str:
        """An expression for its text, empty where there is no value."""
        if parameter.source in ENTIRE:
            return f"to_string({ENTIRE[parameter.source]})"
        if not (paths := self.paths(parameter)):
            return "''"
        found = f"default({merged(paths)}, '')"
        return found if parameter.source in ("header", "url") else f"to_string({found})"

    def template(self, parameter: HookParameter) -> str:
        """Its text as an action writes it."""
        if parameter.source == "string":
            return parameter.name.replace("{{", "{{ '{{' }}")
        return f"{{{{ {self.text(parameter)} }}}}"

    def _header(self, parameter: HookParameter) -> list[str]:
        name = parameter.name.lower()
        if _REMOVED.fullmatch(name):
            self._hook.refuse(
                parameter.node,
                f"the router keeps no {parameter.name}: rules and commands never see it",
                "as the proof of the sender it is `verify: {scheme: token, …}`",
            )
        return [f"headers{quoted_step(name)}"]

    def _cannot(self, parameter: HookParameter) -> list[str]:
        hint = None
        if parameter.source == "raw-request-body":
            hint = "hand it over by `pass-file-to-command`, or on stdin, as the router does"
        elif parameter.source == "request":
            hint = "the method is fixed by `http-methods`, addresses by `allow_from`"
        known = parameter.source in (*_READ, "request")
        what = (
            f"'{parameter.source}' cannot be read here"
            if known
            else f"webhook knows no source '{parameter.source}'"
        )
        self._hook.refuse(parameter.node, what, hint)
        return []


def _in_payload(name: str) -> list[str]:
    """A body that is a list is webhook's `root`."""
    root, _, rest = name.partition(".")
    index, _, inner = rest.partition(".")
    if root != "root" or not index.isdigit():
        return _paths("payload", name)
    item = f"payload[{int(index)}]"
    return _paths(item, inner) if inner else [item]


def _paths(root: str, name: str) -> list[str]:
    """
    The dotted name as a path. A key may itself hold dots, and then goes before others: where the
    name shows that this may be so, every such path.
    """
    parts = name.split(".")
    if all(map(_USUAL.fullmatch, parts)):
        return [root + "".join(map(_step, parts))]
    heads = range(len(parts))
    return [
        root + "".join(map(_step, parts[:at])) + quoted_step(".".join(parts[at:])) for at in heads
    ]


def _step(part: str) -> str:
    if part.isdigit():
        return f"[{int(part)}]"
    # XML's attributes have another sign here.
    return quoted_step(f"@{part[1:]}" if part.startswith("-") else part)


def merged(paths: list[str]) -> str:
    """The value at the first of these places that has one."""
    *others, last = paths
    for path in reversed(others):
        last = f"default({path}, {last})"
    return last


def there(paths: list[str]) -> Formula:
    """Whether there is a value, null among them."""
    return some(f"exists({path})" for path in paths)


def absent(paths: list[str]) -> Formula:
    """Whether there is none."""
    return every(f"!exists({path})" for path in paths)


def quoted(text: str) -> str:
    """A text as an expression writes it."""
    if text.isprintable() and not text.endswith("\\") and "\\'" not in text:
        return "'" + text.replace("'", "\\'") + "'"
    return "`" + encode_json(text).decode().replace("`", "\\`") + "`"
