"""`tests` as Structs, and the file of tests beside a rules file."""

from typing import Annotated, Literal, get_args

from router.config.spelling import EVENT, PATH
from router.config.units import Duration, Moment
from router.model.trial import ExpectedValue
from router.yaml_source import (
    Entry,
    Node,
    OpenEntry,
    SourceText,
    Table,
    doc,
    named,
    needs,
    one,
    some,
)

HOW: tuple[str, ...] = get_args(ExpectedValue.__annotations__["how"])
"""What an expected value says of what comes."""


@named(
    "'send'",
    rules=(
        one("event", "again", "advance", "handshake"),
        needs("event", "endpoint"),
        needs("handshake", "endpoint"),
        needs("every", "repeat"),
    ),
)
class SendEntry(Entry):
    """One step of a test's `send`: deliveries of one event, the last one again, or time."""

    endpoint: Annotated[SourceText | None, doc("The endpoint that receives.", "shop")] = None
    event: Annotated[
        SourceText | None, doc("The event's name.", "orders/paid", pattern=EVENT.pattern)
    ] = None
    path: Annotated[
        SourceText | None,
        doc(
            "Which of the endpoint's paths; left out: its first one.",
            "/hooks/api",
            pattern=PATH.pattern,
        ),
    ] = None
    set: Annotated[
        Table[Node] | None,
        doc("Changes of the sample: dotted paths and values.", {"total_price": "512.50"}),
    ] = None
    payload: Annotated[
        Node | None,
        doc("A payload in place of the sample, or the file that holds it.", {"file": "order.json"}),
    ] = None
    headers: Annotated[Table[Node] | None, doc("Further headers.", {"X-Test": "1"})] = None
    tamper: Annotated[
        Literal["signature", "body"] | None, doc("Forge the signature, or the body behind it.")
    ] = None
    redeliver: Annotated[bool | None, doc("Send the same bytes a second time.")] = None
    repeat: Annotated[int | None, doc("Deliveries of this step.", gt=0)] = None
    every: Annotated[Duration | None, doc("Time between them.", gt=0)] = None
    again: Annotated[bool | None, doc("Send the last bytes once more.")] = None
    handshake: Annotated[bool | None, doc("Ask what the sender asks before it sends.")] = None
    advance: Annotated[Duration | None, doc("Let time pass.", gt=0)] = None


@named("this reply", shorthand="code")
class ReplyEntry(OpenEntry):
    """One of a test's `replies`; a lone number is a status or an exit code."""

    code: Annotated[int | None, doc("A status, or an exit code.")] = None
    error: Annotated[
        Literal["network", "timeout"] | None, doc("No answer: network or timeout.")
    ] = None
    after: Annotated[Duration | None, doc("What it says about when to try again.")] = None


@named("this value", shorthand="text", rules=(one(*HOW[1:]),))
class TextMatchEntry(Entry):
    """An expected text: this one, or what it has to be."""

    text: Annotated[SourceText | None, doc("Exactly this text.")] = None
    contains: Annotated[SourceText | None, doc("This is a part of it.", "Order")] = None
    matches: Annotated[
        SourceText | None, doc("This regular expression is found in it.", "^Order [0-9]+")
    ] = None
    any: Annotated[bool | None, doc("Whatever it is, it is there.")] = None
    absent: Annotated[bool | None, doc("It is not there.")] = None


@named("this call")
class CallEntry(OpenEntry):
    """One of a test's expected `calls`."""

    times: Annotated[int | None, doc("How many calls.")] = None
    delays: Annotated[
        list[Duration] | None,
        doc("The time between the attempts of a job, without jitter.", ["5s", "30s"]),
    ] = None


@named("'answer'")
class ExpectedAnswerEntry(Entry):
    """What a delivery is answered."""

    status: Annotated[int | None, doc("The status.")] = None
    headers: Annotated[
        Table[TextMatchEntry] | None,
        doc("Headers, some of them.", {"Content-Type": "application/json"}),
    ] = None
    json: Annotated[
        Node | None, doc("The body as JSON, some of its fields.", {"status": "accepted"})
    ] = None
    text: Annotated[TextMatchEntry | None, doc("The body as text.")] = None


@named("'expect'", rules=(some(),))
class ExpectEntry(Entry):
    """What a test expects; what is left out is not checked."""

    status: Annotated[
        list[int] | None, doc("The answer of each delivery; one stands for all.", 200, [200, 401])
    ] = None
    matched: Annotated[
        list[SourceText] | None, doc("Exactly the rules that matched.", ["paid"])
    ] = None
    shadow: Annotated[
        list[SourceText] | None, doc("Exactly the shadow rules that matched.", ["paid-soon"])
    ] = None
    because: Annotated[
        Table[SourceText] | None, doc("Why a rule did not match.", {"paid": "payload.test"})
    ] = None
    answer: Annotated[
        list[ExpectedAnswerEntry] | None,
        doc("The whole answer of each delivery; one stands for all."),
    ] = None
    calls: Annotated[
        Table[CallEntry] | None, doc("Calls of RULE/ACTION.", {"paid/erp": {"times": 1}})
    ] = None
    order: Annotated[
        list[SourceText] | None,
        doc("RULE/ACTION whose first calls come in this order.", ["paid/erp", "paid/desk"]),
    ] = None
    dead: Annotated[
        list[SourceText] | None, doc("Exactly the actions that were given up.", ["paid/erp"])
    ] = None
    snapshot: Annotated[
        bool | None, doc("What is sent is what `router test --update` wrote down.")
    ] = None
    cancelled: Annotated[
        list[SourceText] | None,
        doc("Exactly the actions that were cancelled.", ["paid/desk"]),
    ] = None


@named("this test", required=("name", "send", "expect"))
class TrialEntry(Entry):
    """One entry of `tests`."""

    name: Annotated[
        SourceText | None, doc("What the test is about.", "a large order reaches the ERP")
    ] = None
    each: Annotated[
        Node | None,
        doc(
            "Cases, a list or by name: the test runs with the values of each at {{ each.NAME }}.",
            [{"country": "DE", "company": "100"}, {"country": "FR", "company": "200"}],
        ),
    ] = None
    send: Annotated[
        list[SendEntry] | None,
        doc("What is sent: one step, or a list.", {"endpoint": "shop", "event": "orders/paid"}),
    ] = None
    replies: Annotated[
        Table[list[ReplyEntry]] | None,
        doc(
            "How RULE/ACTION is answered, call after call.", {"paid-orders-to-erp/erp": [503, 201]}
        ),
    ] = None
    clock: Annotated[Moment | None, doc("The time at which the test begins.")] = None
    real: Annotated[bool | None, doc("Whether actions really run.")] = None
    expect: Annotated[ExpectEntry | None, doc("What must come of it.")] = None


@named("a file of tests", required=("version", "tests"))
class TestsEntry(Entry):
    """A file of tests beside a rules file."""

    version: Annotated[int | None, doc("Always 1.", ge=1, le=1)] = None
    tests: Annotated[list[TrialEntry] | None, doc("As `tests` of a rules file.")] = None
