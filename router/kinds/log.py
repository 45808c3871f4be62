"""`log`: one line. The smallest kind, the one to copy."""

from typing import Any, ClassVar

import msgspec

from router.expressions import Template
from router.kinds.kind import CallField, Kind, Rendering, ResultFields, by_job
from router.model.job import Done
from router.model.retry import NONE
from router.model.settings import TargetLimits


class LogSpec(msgspec.Struct, frozen=True):
    """A `log` action of a rule: one line."""

    message: Template


class LogCall(msgspec.Struct, frozen=True):
    """One line to log."""

    kind: ClassVar[str] = "log"
    timeout_s: ClassVar[float] = 0.0
    message: str
    level: str = "info"

    def described(self) -> dict[str, Any]:
        """The line."""
        return {"kind": self.kind, "message": self.message}


def render(spec: LogSpec, given: Rendering) -> LogCall:
    """The line of one attempt; null, lists and objects are printed."""
    return LogCall(spec.message.render(given.scope, place="log", lenient=True))


LOG = Kind(
    name="log",
    number=3,
    title="a log",
    spec=LogSpec,
    call=LogCall,
    prepare=by_job(render),
    form=lambda _spec, _field: "lines",
    url_secrets=lambda _spec: (),
    calls={"message": CallField("The line.", lambda call: call.message)},
    reply=None,
    outcome=lambda call, _answer: Done({"message": call.message}),
    result=ResultFields(types={"message": "text"}, code=None, shown="", output=()),
    retry=NONE,
    slots=256,
    limits=TargetLimits(256, breaker=False),
    faults=None,
    local=True,
    real=False,
    whole_event=False,
)
