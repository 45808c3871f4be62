"""`tests` as Structs, and the file of tests beside a rules file."""

from typing import ClassVar, Literal

from router.config.units import Duration, Moment
from router.yaml_source import Entry, Node, SourceText, Table


class SendEntry(Entry):
    """One step of a test's `send`: deliveries of one event, the last one again, or time."""

    called: ClassVar[str] = "'send'"
    endpoint: SourceText | None = None
    event: SourceText | None = None
    set: Table[Node] | None = None
    payload: Node | None = None
    headers: Table[Node] | None = None
    tamper: Literal["signature", "body"] | None = None
    redeliver: bool | None = None
    repeat: int | None = None
    every: Duration | None = None
    again: bool | None = None
    advance: Duration | None = None


class ReplyEntry(Entry):
    """One of a test's `replies`; a lone number is a status or an exit code."""

    called: ClassVar[str] = "this reply"
    shorthand: ClassVar[str | None] = "code"
    code: int | None = None
    status: int | None = None
    exit: int | None = None
    error: Literal["network", "timeout"] | None = None
    raises: Literal["Retry", "Fail"] | None = None
    after: Duration | None = None


class CallEntry(Entry):
    """One of a test's expected `calls`."""

    called: ClassVar[str] = "this call"
    times: int | None = None
    method: SourceText | None = None
    url: SourceText | None = None
    headers: Table[SourceText] | None = None
    json: Node | None = None
    argv: list[SourceText] | None = None
    env: Table[SourceText] | None = None
    stdin: SourceText | None = None
    args: Node | None = None
    message: SourceText | None = None


class ExpectEntry(Entry):
    """What a test expects; what is left out is not judged."""

    called: ClassVar[str] = "'expect'"
    status: list[int] | None = None
    matched: list[SourceText] | None = None
    shadow: list[SourceText] | None = None
    because: Table[SourceText] | None = None
    calls: Table[CallEntry] | None = None
    dead: list[SourceText] | None = None
    cancelled: list[SourceText] | None = None


class TrialEntry(Entry):
    """One entry of `tests`."""

    called: ClassVar[str] = "this test"
    required: ClassVar[tuple[str, ...]] = ("name", "send", "expect")
    name: SourceText | None = None
    send: list[SendEntry] | None = None
    replies: Table[list[ReplyEntry]] | None = None
    clock: Moment | None = None
    real: bool | None = None
    expect: ExpectEntry | None = None


class TestsEntry(Entry):
    """A file of tests beside a rules file."""

    called: ClassVar[str] = "a file of tests"
    required: ClassVar[tuple[str, ...]] = ("version", "tests")
    version: int | None = None
    tests: list[TrialEntry] | None = None
