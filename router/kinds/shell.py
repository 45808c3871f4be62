"""`shell`: one process. Payload text is a whole argument, a variable, a file or stdin, no more."""

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec

from router.errors import RenderError
from router.expressions import Template, encode_json
from router.kinds.json_results import json_of
from router.kinds.kind import (
    CallField,
    Kind,
    Rendering,
    ReplyContent,
    ReplyKey,
    ResultFields,
    by_job,
)
from router.kinds.templates import Scope, json_value
from router.model.job import Done, FailOutcome, Outcome, RetryOutcome
from router.model.retry import NONE
from router.model.settings import ShellLimits, TargetLimits
from router.model.trace import VARIABLE
from router.model.trial import SimulatedAnswer

CHILD_VARIABLES = ("PATH", "HOME", "LANG")
_WEBHOOK_VARIABLES = ("WEBHOOK_JOB", "WEBHOOK_DELIVERY", "WEBHOOK_EVENT", "WEBHOOK_ATTEMPT")
TEMPORARY, WRONG = 75, 78
"""Exit codes that ask for another attempt, and for none."""


class ShellSpec(msgspec.Struct, frozen=True):
    """
    A `shell` action. Exactly one of `argv` and `script`.

    `stdin` is "default" (the event), "none", or a JsonSpec/Template. `pass_env` names variables
    of the router's own environment. `cwd` is absolute. `files` are names of variables and what
    their files hold: "body" (the event) or a JsonSpec.
    """

    argv: tuple[Template, ...] | None
    script: str | None
    interpreter: tuple[str, ...]
    stdin: Any
    env: tuple[tuple[str, Template], ...]
    pass_env: tuple[str, ...]
    cwd: str
    timeout_s: float
    limits: ShellLimits | None = None
    files: tuple[tuple[str, Any], ...] = ()


class ShellCall(msgspec.Struct, frozen=True):
    """
    One process to start. `argv` is complete (a script is already `sh -eu -c SCRIPT`).

    `env` is the whole environment of the child. `secret_names` are the variables of `env` whose
    values came from secrets: never shown. `files` are names of further variables and what the
    file, whose path each of them will hold, is to contain.
    """

    kind: ClassVar[str] = "shell"
    argv: tuple[str, ...]
    stdin: bytes | None
    env: dict[str, str]
    cwd: str
    timeout_s: float
    secret_names: frozenset[str] = frozenset()
    limits: ShellLimits | None = None
    files: tuple[tuple[str, bytes], ...] = ()

    def described(self) -> dict[str, Any]:
        """Arguments, folder and variables, those from secrets masked."""
        env = {k: "***" if k in self.secret_names else v for k, v in self.env.items()}
        return {"kind": self.kind, "argv": list(self.argv), "cwd": self.cwd, "env": env}

    def __repr__(self) -> str:
        return f"ShellCall({self.argv!r})"


def render(spec: ShellSpec, given: Rendering) -> ShellCall:
    """The process of one attempt."""
    scope = given.scope
    if spec.argv is not None:
        argv = tuple(_arguments(spec.argv, scope))
    else:
        argv = (*spec.interpreter, "-c", spec.script or "", given.job.rule)
    env = child_environment(given, spec.pass_env)
    for name, template in spec.env:
        env[name] = _without_nul(template.render(scope, place=f"shell.env.{name}"), f"env.{name}")
    stdin = None if spec.stdin == "none" else _content(spec.stdin, "default", "stdin", given)
    return ShellCall(
        argv,
        stdin,
        env,
        spec.cwd,
        spec.timeout_s,
        frozenset(n for n, t in spec.env if "secret" in t.roots),
        limits=spec.limits,
        files=tuple((n, _content(c, "body", f"files.{n}", given)) for n, c in spec.files),
    )


def child_environment(given: Rendering, passed: tuple[str, ...] = ()) -> dict[str, str]:
    """What every child process gets."""
    env = {k: v for k in (*CHILD_VARIABLES, *passed) if (v := given.environ.get(k)) is not None}
    job, event = given.job, given.event.name.replace("\0", "")
    values = (job.id, given.delivery.id, event, str(job.attempt))
    env |= zip(_WEBHOOK_VARIABLES, values, strict=True)
    if given.delivery.redacted is not None:
        env["WEBHOOK_REDACTED"] = "1"
    return env if given.traced is None else env | {VARIABLE: given.traceparent()}


def _arguments(argv: tuple[Template, ...], scope: Scope) -> Iterator[str]:
    options_ended = False
    for i, template in enumerate(argv):
        place = f"shell.argv[{i}]"
        text = _without_nul(template.render(scope, place=place), place)
        if i and template.whole is not None and text.startswith("-") and not options_ended:
            raise RenderError(place, "begins with '-'; put \"--\" before it in argv")
        options_ended = options_ended or (template.whole is None and text == "--")
        yield text


def _content(content: Any, word: str, key: str, given: Rendering) -> bytes:
    """The default body where the spec says `word`, else a text or JSON of its own."""
    if content == word:
        return given.default_body()[0]
    value = json_value(content, given.scope, f"shell.{key}")
    return value.encode() if isinstance(value, str) else encode_json(value)


def _without_nul(text: str, place: str) -> str:
    if "\0" in text:
        raise RenderError(place, "holds a NUL character")
    return text


def of_exit(code: int, result: dict[str, Any]) -> Outcome:
    """What an exit code means; not of a process that a signal ended."""
    if code == 0:
        return Done(result)
    if code == TEMPORARY:
        return RetryOutcome("temporary", f"exit {code}: try again", None, result)
    if code == WRONG:
        return FailOutcome(f"exit {code}: must not be tried again", result)
    return RetryOutcome("error", f"exit {code}", None, result)


def _simulated(call: ShellCall, answer: SimulatedAnswer) -> Outcome:
    del call
    code, said = int(answer.reply or 0), answer.contents
    if not said:
        return of_exit(code, {"exit": code})
    stdout = encode_json(said["json"]).decode() if "json" in said else said.get("stdout", "")
    result = {"exit": code, "stdout": stdout, "stderr": said.get("stderr", "")}
    return of_exit(code, result | json_of(stdout.strip()))


SHELL = Kind(
    name="shell",
    number=1,
    title="a shell",
    spec=ShellSpec,
    call=ShellCall,
    prepare=by_job(render),
    form=lambda _spec, field: "json" if field in ("stdin", "files") else "text",
    url_secrets=lambda _spec: (),
    calls={
        "argv": CallField("Program and arguments.", lambda call: list(call.argv), "texts"),
        "env": CallField("Variables, some of them.", lambda call: call.env, "table"),
        "stdin": CallField(
            "What it was given.",
            lambda call: None if call.stdin is None else call.stdin.decode("utf-8", "replace"),
        ),
    },
    reply=ReplyKey(
        "exit",
        "An exit code.",
        range(256),
        "no exit code",
        None,
        (),
        {
            "stdout": ReplyContent("What it prints."),
            "json": ReplyContent("The answer, as JSON.", "json"),
            "stderr": ReplyContent("What it prints as errors."),
        },
        frozenset({"stdout", "json"}),
    ),
    outcome=_simulated,
    result=ResultFields(
        types={"exit": "number", "stdout": "text", "stderr": "text", "json": "any"},
        code="exit",
        shown="exit {}",
        output=("stderr", "stdout"),
    ),
    retry=NONE,
    slots=4,
    limits=TargetLimits(4, breaker=False),
    faults=None,
    local=False,
    real=True,
    whole_event=False,
)
