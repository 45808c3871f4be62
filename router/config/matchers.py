"""Expected values of tests: plain ones, and matchers in their place."""

from typing import Any

from router.config.context import LoadContext
from router.config.language import json_value, plain_value
from router.config.trial_schema import HOW, TextMatchEntry
from router.expressions.regex import fault_of
from router.model.trial import ExpectedValue
from router.yaml_source import Entry, Node, Scalar, Sequence, SourceText, Table

_FLAGS = ("any", "absent")


class MatcherCompiler:
    """Compiles what calls and answers must be."""

    def __init__(self, context: LoadContext) -> None:
        self.context = context

    def field(self, entry: Entry, key: str, value: Any) -> Any:
        """The value of a key of an expected call or answer."""
        if isinstance(value, TextMatchEntry):
            return self._text(value)
        if isinstance(value, Table):
            return {name.value: self._text(one) for name, one in value}
        if not isinstance(value, list):
            return self._json(value)
        if len(value) == 1 and not isinstance(entry.at(key), Sequence):
            one = self._text(value[0])  # a matcher alone is of the whole list
            return one if isinstance(one, ExpectedValue) else [one]
        return [self._text(one) for one in value]

    def _text(self, entry: TextMatchEntry) -> Any:
        if entry.text is not None:
            return entry.text.value
        how = self.context.one_of("exactly-one", entry)
        value = getattr(entry, how) if how is not None else None
        if how is None or value is None:
            return ExpectedValue("any")  # its fault has been reported
        given = value.value if isinstance(value, SourceText) else value
        return self._matcher(how, given, entry.at(how))

    def _json(self, node: Node) -> Any:
        if isinstance(node, Sequence):
            return [self._json(item) for item in node.items]
        if isinstance(node, Scalar):
            return plain_value(self.context, node)
        if len(node.entries) == 1 and (how := next(iter(node.entries))) in HOW:
            [(_, value)] = node
            literal = how in ("equals", *_FLAGS)
            given = json_value(self.context, value) if literal else self._json(value)
            return self._matcher(how, given, value)
        return {key.value: self._json(child) for key, child in node}

    def _matcher(self, how: str, value: Any, at: Node) -> ExpectedValue:
        if how in _FLAGS and value is not True:
            hint = f"if a field is really called '{how}', write {{equals: …}} around its object"
            self.context.error("bad-expectation", f"'{how}' is written '{how}: true'", at, hint)
        if how == "matches":
            self._pattern(value, at)
        return ExpectedValue(how, None if how in _FLAGS else value)  # type: ignore[arg-type]

    def _pattern(self, pattern: Any, at: Node) -> None:
        """Report what is no pattern."""
        if not isinstance(pattern, str):
            self.context.error("bad-expectation", "'matches' takes a text", at)
        elif (fault := fault_of(pattern)) is not None:
            text, span = SourceText(pattern, at), (fault.start, fault.end)
            self.context.error_within("bad-pattern", fault.message, text, span, fault.hint)
