"""What a hook reads of a request, as expressions."""

import re

from router.cli.importing.hooks_file import Hook, HookParameter
from router.cli.importing.trigger_rule import Trigger
from router.expressions import encode_json
from router.expressions.changes import quoted_step

_USUAL = re.compile(r"-?[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*|#text")
_REMOVED = re.compile(r"authorization|cookie|proxy-.*")
"""Headers that are not stored, and so not seen by rules."""
_ENTIRE = {"entire-payload": "payload", "entire-headers": "headers", "entire-query": "query"}
_UNREAD = {"raw-request-body": "unread-body", "request": "unread-request"}
_UNREAD |= dict.fromkeys(("string", *_ENTIRE), "unread")
"""What is said where a source that webhook knows cannot be read."""


class RequestValues:
    """
    The values of one hook. With `whole_body` the payload is the body as text, for that is compared
    or an argument, and nothing else of it is read.
    """

    def __init__(self, hook: Hook, trigger: Trigger) -> None:
        self._hook = hook
        given = [*hook.pass_arguments_to_command, *hook.pass_environment_to_command]
        given += [leaf.parameter for leaf in trigger.leaves() if leaf.compares]
        read = {one.source for one in (*given, *hook.pass_file_to_command)}
        raw = "raw-request-body" in {one.source for one in given}
        self.whole_body = raw and not read & {"payload", "entire-payload"}
        self._within = {(one.place, one.name) for one in hook.parse_parameters_as_json}
        for one in hook.parse_parameters_as_json:
            if one.place not in ("payload", "query") or not one.name.isidentifier():
                hook.note(one.node, "within-json")

    def paths(self, parameter: HookParameter) -> list[str]:
        """Where the value may stand, the place that counts first; none if it cannot be said."""
        place, name = parameter.place, str(parameter.name)
        first, _, rest = name.partition(".")
        if (place, first) in self._within:
            root = f"parse_json({place}.{first})"
            return _paths(root, rest) if rest else [root]
        match place:
            case "payload":
                return _in_payload(name)
            case "query":
                return ["query" + quoted_step(name)]
            case "header":
                return [self._header(parameter)]
            case "raw-request-body" if self.whole_body:
                return ["payload"]
        note = _UNREAD.get(place, "unknown-source")
        self._hook.note(parameter.node, note, source=place)
        return []

    def template(self, parameter: HookParameter) -> str:
        """Its text as an action writes it, empty where there is no value."""
        if parameter.source == "string":
            return literal(parameter.name)
        if parameter.source in _ENTIRE:
            return f"{{{{ to_string({_ENTIRE[parameter.source]}) }}}}"
        found = f"default({merged(self.paths(parameter))}, '')"
        return f"{{{{ {found} }}}}" if parameter.is_text else f"{{{{ to_string({found}) }}}}"

    def _header(self, parameter: HookParameter) -> str:
        name = parameter.name.lower()
        if _REMOVED.fullmatch(name):
            self._hook.note(parameter.node, "removed-header", name=parameter.name)
        return "headers" + quoted_step(name)


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
    steps = [*map(_step, parts)]
    if all(map(_USUAL.fullmatch, parts)):
        return [root + "".join(steps)]
    return [
        root + "".join(steps[:at]) + quoted_step(".".join(parts[at:])) for at in range(len(parts))
    ]


def _step(part: str) -> str:
    if part.isdigit():
        return f"[{int(part)}]"
    # XML's attributes have another sign here.
    return quoted_step(f"@{part[1:]}" if part.startswith("-") else part)


def merged(paths: list[str]) -> str:
    """The value at the first of these places that has one."""
    *others, last = paths or ["null"]
    for path in reversed(others):
        last = f"default({path}, {last})"
    return last


def literal(text: str) -> str:
    """A fixed text as an action writes it."""
    return text.replace("{{", "{{ '{{' }}")


def quoted(text: str) -> str:
    """A text as an expression writes it."""
    if text.isprintable() and not text.endswith("\\") and "\\'" not in text:
        return "'" + text.replace("'", "\\'") + "'"
    return "`" + encode_json(str(text)).decode().replace("`", "\\`") + "`"
