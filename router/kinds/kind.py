"""What a kind of action is: one row of facts and pure functions, and what these are given."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

import msgspec

from router.expressions import encode_json
from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import FailureClass, Job, Outcome
from router.model.packed import plain_body
from router.model.retry import RetryPolicy
from router.model.settings import TargetLimits
from router.model.trace import Traceparent, passed_on
from router.model.trial import SimulatedAnswer

FORM = "application/x-www-form-urlencoded"
TemplateForm = Literal["text", "json", "lines", "path"]
"""How a template of a spec is rendered: `lines` print null, lists and objects; see Template."""
CallForm = Literal["text", "texts", "table", "json"]
"""How a test writes a part of a call; `table` and `json` need not be whole."""
ResultType = Literal["number", "text", "texts", "any"]
"""What a field of a result may be for expressions; all but `any` may also be missing."""


class ActionCall(Protocol):
    """An action's parameters, rendered for one event, ready to run: what dispatch knows of it."""

    kind: ClassVar[str]

    @property
    def timeout_s(self) -> float:
        """How long a run may take; 0 for what never waits."""

    def described(self) -> dict[str, Any]:
        """The call as a JSON object for `--dry`, `router test` and logs; no secret in it."""


class SecretTexts(Protocol):
    """The values of the secrets, by name."""

    texts: dict[str, str]

    def value(self, name: str) -> bytes:
        """A secret's bytes, empty when there is none."""


class Rendering(msgspec.Struct, frozen=True, gc=False):
    """
    All that a spec is rendered with. `covered` are the events of a run for a whole batch
    (`per: delivery`), `event` their first. `scope` is what expressions see, empty when the action
    has none. `environ` is the router's own environment. `traced` says which span
    the attempt is, if the router makes one of it: child processes are told, too.
    """

    job: Job
    delivery: Delivery
    event: DeliveryEvent
    covered: tuple[DeliveryEvent, ...]
    scope: Mapping[str, Any]
    secrets: SecretTexts
    environ: Mapping[str, str]
    traced: Traceparent | None = None

    def traceparent(self) -> str:
        """Which trace the attempt is part of, and the span that whatever it calls comes under."""
        return (self.traced or passed_on)(self.delivery, self.job)

    def default_body(self) -> tuple[bytes, str]:
        """
        What an action gets that names no body, with its content type: the exact bytes received,
        unpacked, or the event's own JSON where the provider splits batches or wraps them in a form.
        A run for a whole batch gets the exact bytes.
        """
        if self.event.raw is not None and not self.covered:
            return self.event.raw, "application/json"
        sent = dict(self.delivery.headers).get("content-type", "application/json")
        if sent.startswith(FORM):
            return encode_json(self.event.payload), "application/json"
        return plain_body(self.delivery), sent


S = TypeVar("S", bound=msgspec.Struct)
C = TypeVar("C", bound=ActionCall)


class CallField(msgspec.Struct, Generic[C], frozen=True):
    """
    A part of a call that a test's `calls` may expect: its description, and how it is read.

    `lower`: the names of a table compare without case.
    """

    about: str
    read: Callable[[C], Any]
    form: CallForm = "text"
    lower: bool = False


class ReplyContent(msgspec.Struct, frozen=True):
    """A part of an answer that becomes that part of the result."""

    about: str
    form: CallForm = "text"


class ReplyKey(msgspec.Struct, frozen=True):
    """
    The key of a test's `replies` that says how an attempt is answered, and its values: numbers of
    a range (a lone number means this key), or words. `otherwise` says what another number is not.
    `after`, in words, are the values beside which `after` may stand, `waits` these values.
    `contents` may be said as well, of those of `either` one.
    """

    key: str
    about: str
    values: range | tuple[str, ...]
    otherwise: str
    after: str | None
    waits: Collection[int | str]
    contents: Mapping[str, ReplyContent] = {}
    either: frozenset[str] = frozenset()


class ResultFields(msgspec.Struct, frozen=True):
    """
    What the result of an attempt holds. `types` are those of `results.ID`, all that `check` knows.
    `code` is the number that tells how it ended, `shown` how a line of the log says it; `output`
    are texts, the most telling first.
    """

    types: Mapping[str, ResultType]
    code: str | None
    shown: str
    output: tuple[str, ...]


def by_job(
    render: Callable[[S, Rendering], C],
) -> Callable[[S, frozenset[str], SecretTexts], Callable[[Rendering], C]]:
    """The `prepare` of a kind that prepares nothing: `render` does it all for each job."""
    return lambda spec, _reads, _secrets: partial(render, spec)


class Kind(msgspec.Struct, Generic[S, C], frozen=True, kw_only=True):
    """
    One kind of action. No field has a default: whoever adds a kind decides each.

    number       how the store writes it down: never another kind's, never changed
    title        as messages call it: `a log`
    spec, call   its classes
    prepare      what makes calls of a spec, given the roots that it reads: it raises RenderError;
                 `by_job` where nothing can be made before the job is known
    form         how a template in that field of a spec is rendered
    url_secrets  the secrets that are whole addresses in a spec
    calls        what a test may expect of a call, by the key in the file
    reply        how a test says what an attempt meets; None: nothing answers it
    outcome      what an attempt comes to that meets this reply
    result       what its result holds
    retry        its policy where neither the action nor the rule has one
    slots        its jobs at once, over all targets
    limits       those of a target without a name
    faults       failures that are the target's fault; None: every failure
    local        nothing outside is reached: it has no target to list or judge, and its own line
                 in the log is all there is to tell of a success
    real         a test that says `real: true` runs it
    whole_event  it is given the event itself, whatever its templates read
    """

    name: str
    number: int
    title: str
    spec: type[S]
    call: type[C]
    prepare: Callable[[S, frozenset[str], SecretTexts], Callable[[Rendering], C]]
    form: Callable[[S, str], TemplateForm]
    url_secrets: Callable[[S], Collection[str]]
    calls: Mapping[str, CallField[C]]
    reply: ReplyKey | None
    outcome: Callable[[C, SimulatedAnswer], Outcome]
    result: ResultFields
    retry: RetryPolicy
    slots: int
    limits: TargetLimits
    faults: frozenset[FailureClass] | None
    local: bool
    real: bool
    whole_event: bool
