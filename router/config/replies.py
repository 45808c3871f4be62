"""A test's `replies`: how the world answers an action, in the terms of its kind."""

from functools import partial
from itertools import pairwise

from router.config.context import LoadContext
from router.config.providers import decoded_value
from router.config.trial_schema import ReplyEntry
from router.kinds import KINDS
from router.kinds.kind import ReplyKey
from router.model.job import ActionKind
from router.model.trial import SimulatedAnswer
from router.yaml_source import SourceText


class ReplyCompiler:
    """Compiles the replies of one load."""

    def __init__(self, context: LoadContext) -> None:
        self.context = context
        self._bad = partial(context.error, "bad-reply")

    def compile(self, entry: ReplyEntry, kind: ActionKind, name: SourceText) -> SimulatedAnswer:
        """One answer to an action of this kind; its faults are reported."""
        title, reply = f"{KINDS[kind].title} action", KINDS[kind].reply
        if reply is None:
            self._bad(f"'{name.value}' is {title}: it meets nobody", entry.node)
            return SimulatedAnswer()
        for key in entry.chosen.keys() - {reply.key, *reply.contents}:
            known = ", ".join((reply.key, *reply.contents))
            self._bad(
                f"'{key}' is no answer to {title}",
                entry.key_at(key),
                f"expected {known} or error",
            )
        self._exclusive(entry, reply)
        contents = {key: value for key, value in entry.chosen.items() if key in reply.contents}
        return SimulatedAnswer(
            self._value(entry, reply, title),
            entry.error,
            None if entry.after is None else entry.after / 1_000,
            {key: decoded_value(self.context, value) for key, value in contents.items()},
        )

    def _exclusive(self, entry: ReplyEntry, reply: ReplyKey) -> None:
        given = [key for key in (reply.key, *reply.contents) if key in entry.chosen]
        pairs = [(key, "error") for key in given if entry.error is not None]
        either = [key for key in given if key in reply.either]
        for first, second in pairs[:1] or pairwise(either):
            self._bad(f"'{first}' and '{second}' exclude each other", entry.node)

    def _value(self, entry: ReplyEntry, reply: ReplyKey, title: str) -> int | str | None:
        """The status, the exit code, what is raised."""
        value: int | str | None = entry.chosen.get(reply.key)
        if entry.code is not None and isinstance(reply.values, range):
            value = entry.code
        elif entry.code is not None:
            words = ", ".join(f"{{{reply.key}: {one}}}" for one in reply.values)
            hint = f"write {words}, or {{}} for success"
            self._bad(f"{title} is not answered by a number", entry.node, hint)
        if value is not None and value not in reply.values:
            self._bad(f"{value} is {reply.otherwise}", entry.node)
        elif entry.after is not None and value not in reply.waits:
            afters = [k.reply.after for k in KINDS.values() if k.reply and k.reply.after]
            self._bad(f"'after' goes with {' or '.join(afters)}", entry.key_at("after"))
        return value
