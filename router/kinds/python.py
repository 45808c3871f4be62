"""`python`: one function of a plugin, called in a child process."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import msgspec

from router.expressions import rfc3339
from router.kinds.kind import (
    CallField,
    Kind,
    Rendering,
    ReplyContent,
    ReplyKey,
    ResultFields,
    SecretTexts,
)
from router.kinds.shell import child_environment
from router.kinds.templates import json_value, texts_in
from router.model.headers import joined_headers
from router.model.job import Done, FailOutcome, Outcome, RetryOutcome
from router.model.packed import plain_body
from router.model.retry import SHORT
from router.model.settings import TargetLimits
from router.model.trial import SimulatedAnswer
from router.plugin import hosts_of


class PythonSpec(msgspec.Struct, frozen=True):
    """
    A `python` action: `module:function`, arguments as JsonSpecs, secrets by name.

    `cwd` is absolute: the folder that holds `plugins/`.
    """

    call: str
    args: dict[str, Any]
    secrets: tuple[str, ...]
    cwd: str
    timeout_s: float


class PythonCall(msgspec.Struct, frozen=True):
    """
    One function of a plugin to call in a child process.

    `event` has the fields of `router.plugin.Event` as JSON, but for its `body`. `env` is the whole
    environment, `cwd` the folder that holds `plugins/`. `hosts` are those that the operator wrote
    into `args`.
    """

    kind: ClassVar[str] = "python"
    function: str
    args: dict[str, Any]
    secrets: dict[str, str]
    timeout_s: float
    event: dict[str, Any] = {}
    body: bytes = b""
    env: dict[str, str] = {}
    cwd: str = "."
    hosts: tuple[str, ...] = ()

    def described(self) -> dict[str, Any]:
        """The function and its arguments."""
        return {"kind": self.kind, "call": self.function, "args": self.args}

    def __repr__(self) -> str:
        return f"PythonCall({self.function})"


def prepare(
    spec: PythonSpec, reads: frozenset[str], secrets: SecretTexts
) -> Callable[[Rendering], PythonCall]:
    """What makes a spec's function calls; the hosts that they may reach are the same for all."""
    del reads, secrets
    # A text that holds no expression is the operator's own.
    literals = (t.text for t in texts_in(spec.args) if not t.reads)
    return partial(render, spec, tuple(sorted(hosts_of(literals))))


def render(spec: PythonSpec, hosts: tuple[str, ...], given: Rendering) -> PythonCall:
    """The function call of one attempt."""
    texts, raw = given.secrets.texts, given.event.raw
    return PythonCall(
        function=spec.call,
        args=json_value(spec.args, given.scope, "python.args"),
        secrets={name: texts[name] for name in spec.secrets if name in texts},
        timeout_s=spec.timeout_s,
        event=_event(given),
        body=plain_body(given.delivery) if raw is None or given.covered else raw,
        env=child_environment(given),
        cwd=spec.cwd,
        hosts=hosts,
    )


def _event(given: Rendering) -> dict[str, Any]:
    """The fields of `router.plugin.Event`."""
    job, delivery, event = given.job, given.delivery, given.event
    return {
        "payload": event.payload,
        "events": [covered.payload for covered in given.covered],
        "name": event.name,
        "action": event.action,
        "headers": joined_headers(delivery.headers),
        "query": delivery.query,
        "fields": event.fields,
        "endpoint": delivery.endpoint,
        "provider": delivery.provider,
        "delivery": delivery.id,
        "id": event.id,
        "index": event.index,
        "count": delivery.event_count,
        "received_at": rfc3339(delivery.received_at),
        "rule": job.rule,
        "idempotency_key": job.id,
        "attempt": job.attempt,
        "replay_of": delivery.replay_of,
    }


def _simulated(call: PythonCall, answer: SimulatedAnswer) -> Outcome:
    del call
    if answer.reply == "Retry":
        return RetryOutcome("temporary", "Retry was raised", answer.after_s)
    return FailOutcome("Fail was raised") if answer.reply == "Fail" else Done(dict(answer.contents))


PYTHON = Kind(
    name="python",
    number=2,
    title="a python",
    spec=PythonSpec,
    call=PythonCall,
    prepare=prepare,
    form=lambda _spec, field: "json" if field == "args" else "text",
    url_secrets=lambda _spec: (),
    calls={"args": CallField("Arguments, some of them.", lambda call: call.args, "json")},
    reply=ReplyKey(
        "raises",
        "What the plugin raises.",
        ("Retry", "Fail"),
        "",
        "'raises: Retry'",
        ("Retry",),
        {"value": ReplyContent("What the plugin returns.", "json")},
        frozenset({"raises", "value"}),
    ),
    outcome=_simulated,
    result=ResultFields(types={"value": "any"}, code=None, shown="", output=("stderr", "stdout")),
    retry=SHORT,
    slots=4,
    limits=TargetLimits(4, breaker=False),
    faults=None,
    local=False,
    real=True,
    whole_event=True,
)
