"""What a hook reads of a request, as expressions."""

import re

from router.cli.importing.hooks_file import Hook, HookParameter
from router.cli.importing.trigger_rule import Trigger, leaves
from router.expressions import encode_json
from router.expressions.changes import quoted_step

_USUAL = re.compile(r"-?[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*|#text")
_REMOVED = re.compile(r"authorization|cookie|proxy-.*")
"""Headers that are not stored, and so not seen by rules."""
_ENTIRE = {"entire-payload": "payload", "entire-headers": "headers", "entire-query": "query"}
_HINTS = {
    "raw-request-body": "hand it over by `pass-file-to-command`, or on stdin, as the router does",
    "request": "the method is fixed by `http-methods`, addresses by `allow_from`",
    **dict.fromkeys(("header", "url", "payload", "string", *_ENTIRE)),
}
"""What to do instead, of each source that webhook knows."""


class RequestValues:
    """
    The values of one hook. With `whole_body` the payload is the body as text, for that is compared
    or an argument, and nothing else of it is read.
    """

    def __init__(self, hook: Hook, trigger: Trigger) -> None:
        self._hook, self._within = hook, set[tuple[str, str]]()
        given = hook.parameters("pass-arguments-to-command", "pass-environment-to-command")
        sources = {one.source for one in given}
        sources |= {leaf.parameter.source for leaf in leaves(trigger) if leaf.compares}
        others = sources | {one.source for one in hook.parameters("pass-file-to-command")}
        whole = "raw-request-body" in sources and not others & {"payload", "entire-payload"}
        self.whole_body = whole
        for one in hook.parameters("parse-parameters-as-json"):
            if one.source not in ("payload", "url") or not one.name.isidentifier():
                message = "JSON is read within a field of the payload or the query, by a plain name"
                hook.refuse(one.node, message)
            self._within.add((one.source, one.name))  # it holds JSON

    def paths(self, parameter: HookParameter) -> list[str]:
        """Where the value may stand, the place that counts first; none if it cannot be said."""
        source, name = parameter.source, parameter.name
        first, _, rest = name.partition(".")
        if (source, first) in self._within:
            root = f"parse_json({'query' if source == 'url' else source}.{first})"
            return _paths(root, rest) if rest else [root]
        if source == "payload":
            return _in_payload(name)
        if parameter.is_text:
            return [self._header(parameter) if source == "header" else "query" + quoted_step(name)]
        if source == "raw-request-body" and self.whole_body:
            return ["payload"]
        what = "'{}' cannot be read here" if source in _HINTS else "webhook knows no source '{}'"
        hint = _HINTS.get(source, f"write one of {', '.join(_HINTS)}")
        self._hook.refuse(parameter.node, what.format(source), hint)
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
            self._hook.refuse(
                parameter.node,
                f"the router keeps no {parameter.name}: rules and commands never see it",
                "as the proof of the sender it is `verify: {scheme: token, …}`",
            )
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
    return "`" + encode_json(text).decode().replace("`", "\\`") + "`"
